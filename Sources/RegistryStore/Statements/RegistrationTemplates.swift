import Foundation
import PostgresDriver
import RegistryCore

/// The templates of a registration's statements, for each shape of a batch: together they are twenty thousand characters,
/// which a rotation would otherwise spend more time on than Postgres on some of them.
enum RegistrationTemplates {
    /// Nil for a shape whose statements hold a value of which it is not known what it stands for.
    static func of(_ shape: RegistrationBatch.Shape) -> [SQLTemplate]? { all[shape] }

    private static let all: [RegistrationBatch.Shape: [SQLTemplate]] = {
        var all: [RegistrationBatch.Shape: [SQLTemplate]] = [:]
        for shape in shapes { all[shape] = templates(of: shape) }
        return all
    }()

    static var shapes: [RegistrationBatch.Shape] {
        (0..<8).map { number in
            RegistrationBatch.Shape(
                isGuarded: number & 1 != 0,
                needsReceiptOrder: number & 2 != 0,
                hasAliases: number & 4 != 0
            )
        }
    }

    private static func templates(of shape: RegistrationBatch.Shape) -> [SQLTemplate]? {
        guard let scope = Scope.sample else { return nil }
        let batch = RegistrationBatch(sampleOf: shape)
        let statements = RegistrationStatements(batch: batch, scope: scope).made
        let templates = statements.compactMap { SQLTemplate($0, values: batch.values + scope.values) }
        return templates.count == statements.count ? templates : nil
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

    /// What statements say of it, as parameters.
    var values: [PostgresParameter] {
        [
            PostgresParameter(app.number), PostgresParameter(environment.rawValue),
            PostgresParameter(app.settings.activityLifetime), PostgresParameter(app.settings.tombstoneRetention),
            PostgresParameter(app.settings.eventRetention),
        ]
    }
}
