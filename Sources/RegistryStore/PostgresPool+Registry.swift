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

/// The server would acknowledge writes that a crash can lose (R1).
public struct UnsafeDurability: Error, Sendable, CustomStringConvertible {
    let setting: String
    let value: String

    public var description: String {
        "Postgres runs with \(setting) = \(value), so it can lose writes that it acknowledged. Set \(setting) to on."
    }

    static func refuse(_ session: borrowing PostgresSession) throws {
        let settings = try session.execute(
            "SELECT current_setting('fsync'), current_setting('synchronous_commit'), current_setting('full_page_writes')"
        )[0].decode(String.self, String.self, String.self)
        guard settings.0 == "on" else { throw UnsafeDurability(setting: "fsync", value: settings.0) }
        guard settings.1 == "on" || settings.1 == "remote_apply" else {
            throw UnsafeDurability(setting: "synchronous_commit", value: settings.1)
        }
        guard settings.2 == "on" else { throw UnsafeDurability(setting: "full_page_writes", value: settings.2) }
    }
}
