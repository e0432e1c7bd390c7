import RegistryCore

/// One app in one APNs environment: the subject of every call except calls about apps.
package struct Scope: Sendable, Hashable {
    package let app: App
    package let environment: APNSEnvironment

    package init(app: App, environment: APNSEnvironment) {
        self.app = app
        self.environment = environment
    }

    /// The `scope_id` of its rows. Compare ids, because an app's settings may change between two requests.
    package var id: Int64 { app.scopeIDs[environment] }

    var other: Scope { Scope(app: app, environment: environment.other) }
}
