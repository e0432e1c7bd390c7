import RegistryCore
import RegistryStore

extension ConsoleCall {
    /// All apps of the caller, or the page of the only one.
    func showApps() async throws -> Response {
        let own = visit.grants.map(\.app)
        if own.count < 2, let own = principal.app {
            guard let app = try await registry.app(own) else { throw Problem.unknownApp }
            return .seeOther(try await entrance(to: app))
        }
        let apps = try await registry.apps().filter { own.isEmpty || own.contains($0.bundleID) }
        if apps.count == 1 { return .seeOther(try await entrance(to: apps[0])) }
        var fields = frame
        fields.add(["pageTitle": "Apps", "heading": "Apps", "apps": apps])
        return .page("apps", fields)
    }

    /// The sandbox, until the app has data in production.
    private func entrance(to app: App) async throws -> String {
        let isLive = try await registry.isUsed(Scope(app: app, environment: .production))
        return ConsoleLink(app.bundleID, isLive ? .production : .sandbox).base
    }
}
