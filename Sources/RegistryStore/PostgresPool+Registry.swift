import Foundation
import Logging
import PostgresDriver

extension PostgresPool {
    /// A pool with the settings that the registry needs.
    ///
    /// - Parameters:
    ///   - allowsUnsafeDurability: takes a server that can lose acknowledged writes; for tests alone.
    public convenience init(
        databaseURL: String,
        maximumConnections: Int = 16,
        requestTimeout: Duration = .seconds(5),
        allowsUnsafeDurability: Bool = false,
        logger: Logger
    ) {
        var configuration = PostgresConfiguration(connectionString: databaseURL)
        configuration.applicationName = "pushreg"
        configuration.maximumConnections = maximumConnections
        configuration.requestTimeout = requestTimeout
        // The hot statements are prepared once; planning them anew each time costs more than running them.
        configuration.forceGenericPlan = true
        configuration.settings = ["jit": "off", "TimeZone": "UTC"]
        if !allowsUnsafeDurability { configuration.onConnect = { try UnsafeDurability.refuse($0) } }
        self.init(configuration: configuration, logger: logger)
    }
}
