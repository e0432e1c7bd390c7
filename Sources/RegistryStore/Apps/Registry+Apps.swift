import Foundation
import Logging
import PostgresDriver
import RegistryCore

extension Registry {
    /// The app, or nil when it is not known; all who ask at once share a statement.
    public func app(_ bundleID: BundleID) async throws -> App? { try await appLookups.find(bundleID) }

    /// All apps, by bundle id.
    public func apps() async throws -> [App] {
        try await read { session in try session.execute(AppStatements.apps).decode(App.columns) }
    }

    /// Makes the app or changes its settings.
    ///
    /// - Throws: `invalidRequest` when tombstones would not outlive activities by an hour.
    public func put(
        _ changes: AppChanges,
        for bundleID: BundleID,
        by who: UTF8Text
    ) async throws -> (app: App, isNew: Bool) {
        try await write { session in
            try session.transaction { transaction in
                let put = AppStatements.put(changes, for: bundleID)
                let (app, isNew) = try transaction.execute(put)[0].decode(AppStatements.putColumns)
                let type = isNew ? "app-created" : "app-changed"
                _ = try transaction.pipeline([EventStatements.aboutApp(type, bundleID, by: who)], finishing: true)
                return (app, isNew)
            }
        }
    }

}

extension App {
    /// The apps of these names, in their order; nil for those that there are not.
    static func find(_ session: borrowing PostgresSession, _ names: [BundleID]) throws -> [App?] {
        let apps = try session.execute(AppStatements.apps(names)).decode(App.columns)
        let byName = Dictionary(apps.map { ($0.bundleID, $0) }) { first, _ in first }
        return names.map { byName[$0] }
    }
}
