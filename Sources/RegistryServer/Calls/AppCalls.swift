import HTTPTypes
import RegistryCore
import RegistryStore

extension Call {
    /// `GET /v1/apps`: all of them, or the one that the credentials belong to.
    func listApps() async throws -> Answer {
        let apps: [App]
        if let own = principal.app {
            apps = [try await registry.app(own)].compactMap { $0 }
        } else {
            apps = try await registry.apps()
        }
        return .json { $0.member("apps", apps) }
    }

    /// `PUT /v1/apps/{bundleId}`: makes an app or changes its settings.
    func putApp() async throws -> Answer {
        var parameters = ParameterReader(self)
        let candidate = parameters.path("bundleId", BundleID.init)
        var json = JSONReader(body)
        let changes = AppChanges(from: &json)
        parameters.add(json.faults)
        let bundleID = try parameters.checked(candidate)
        defer { apps.forget(bundleID) }
        let (app, isNew) = try await registry.put(changes, for: bundleID, by: principal.who)
        return .json(isNew ? .created : .ok, app)
    }

    /// `GET /v1/apps/{bundleId}`.
    func readApp() async throws -> Answer {
        guard let bundleID = try? BundleID(parameter("bundleId")), let app = try await registry.app(bundleID) else {
            throw Problem.unknownApp
        }
        return .json(.ok, app)
    }

    /// `DELETE /v1/apps/{bundleId}`: with everything that is held about it.
    func deleteApp() async throws -> Answer {
        guard let bundleID = try? BundleID(parameter("bundleId")) else { throw Problem.unknownApp }
        defer { apps.forget(bundleID) }
        guard try await registry.deleteApp(bundleID, by: principal.who) else { throw Problem.unknownApp }
        return .noContent
    }
}

extension Problem {
    /// Told also of an app that there is, to those whom it does not concern.
    static var unknownApp: Problem {
        Problem(.unknownApp, "There is no such app or environment; environments are sandbox and production.")
    }
}
