import Foundation
import PostgresDriver
import RegistryCore

/// The statements of a hot path, from templates: they are thousands of characters, whose making would cost more than
/// Postgres takes for some of them.
struct TemplatedStatements<Input>: Sendable {
    private let values: @Sendable (Input) -> [PostgresParameter]
    private let make: @Sendable (Input) -> [SQL]
    /// Nil when a statement of the sample holds what is none of its values: then all are made in the usual way.
    let templates: [SQLTemplate]?

    /// - Parameters:
    ///   - sample: an input whose values are all different.
    ///   - values: what an input puts into statements, always as many and in the same order.
    ///   - make: the statements of an input, made in the usual way.
    init(
        sample: Input?,
        values: @escaping @Sendable (Input) -> [PostgresParameter],
        make: @escaping @Sendable (Input) -> [SQL]
    ) {
        self.values = values
        self.make = make
        guard let sample else {
            templates = nil
            return
        }
        let statements = make(sample)
        let found = statements.compactMap { SQLTemplate($0, values: values(sample)) }
        templates = found.count == statements.count ? found : nil
    }

    /// The statements of an input.
    func statements(of input: Input) -> [SQL] {
        guard let templates else { return make(input) }
        let values = values(input)
        return templates.map { $0.bind(values) }
    }
}

extension Scope {
    /// An app whose number, environment and settings are all different values.
    static var sample: Scope? {
        guard let bundleID = try? BundleID("com.example.sample") else { return nil }
        let settings = AppSettings(
            activityLifetime: .seconds(1_000_001),
            tombstoneRetention: .seconds(1_000_002),
            eventRetention: .seconds(1_000_003)
        )
        let app = App(
            number: 1_000_004,
            bundleID: bundleID,
            settings: settings,
            createdAt: .distantPast,
            updatedAt: .distantPast
        )
        return Scope(app: app, environment: .sandbox)
    }

    /// Its values in statements, as parameters; ``valueNames`` has their names.
    var values: [PostgresParameter] {
        [
            PostgresParameter(app.number), PostgresParameter(environment.rawValue),
            PostgresParameter(app.settings.activityLifetime), PostgresParameter(app.settings.tombstoneRetention),
            PostgresParameter(app.settings.eventRetention),
        ]
    }

    static let valueNames = ["app", "environment", "activityLifetime", "tombstoneRetention", "eventRetention"]
}
