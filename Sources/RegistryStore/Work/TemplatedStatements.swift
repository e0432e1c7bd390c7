import Foundation
import PostgresDriver
import RegistryCore

/// The statements of a hot path, from templates: building their thousands of characters would cost more than Postgres
/// takes for some of them.
struct TemplatedStatements<Input>: Sendable {
    private let values: @Sendable (Input) -> [PostgresParameter]
    let templates: [SQLTemplate]

    /// - Parameters:
    ///   - sample: an input whose values are all different.
    ///   - values: the values that an input puts into statements, always in the same number and order.
    ///   - make: the statements of an input, built in the usual way, without other values.
    init(
        sample: Input,
        values: @escaping @Sendable (Input) -> [PostgresParameter],
        make: (Input) -> [SQL]
    ) {
        self.values = values
        templates = make(sample).map { SQLTemplate($0, values: values(sample)) }
    }

    func statements(of input: Input) -> [SQL] {
        let values = values(input)
        return templates.map { $0.bind(values) }
    }
}

extension Scope {
    /// A scope whose id, app and settings are all different values.
    static var sample: Scope {
        let settings = AppSettings(
            activityLifetime: .seconds(1_000_001),
            tombstoneRetention: .seconds(1_000_002),
            eventRetention: .seconds(1_000_003)
        )
        let app = App(
            id: 1_000_004,
            scopeIDs: ScopeIDs(sandbox: 1_000_005, production: 1_000_006),
            bundleID: BundleID(stored: "com.example.sample"),
            settings: settings,
            createdAt: .distantPast,
            updatedAt: .distantPast
        )
        return Scope(app: app, environment: .sandbox)
    }

    var values: [PostgresParameter] {
        [
            PostgresParameter(id), PostgresParameter(app.id), PostgresParameter(app.settings.activityLifetime),
            PostgresParameter(app.settings.tombstoneRetention), PostgresParameter(app.settings.eventRetention),
        ]
    }

    static let valueNames = ["scope", "app", "activityLifetime", "tombstoneRetention", "eventRetention"]
}
