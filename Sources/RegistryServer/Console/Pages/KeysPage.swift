import HTTPTypes
import RegistryCore
import RegistryStore

extension ConsoleCall {
    func showKeys(fault: String? = nil) async throws -> Response {
        let (app, maySeeKeys) = (try scope.app, Access.adminCalls.allows(principal))
        let keys = maySeeKeys ? try await registry.keys(of: app) : []
        let apps = isRoot ? try await registry.apps() : []
        let settings = app.settings
        let rules = settings.aliasRules.sorted { $0.key < $1.key }
        return try page(
            "keys",
            status: fault == nil ? .ok : .unprocessableContent,
            [
                "maySeeKeys": maySeeKeys, "keys": keys.map(row),
                "jwtIssuer": settings.jwt.map { $0["issuer"]?.string.map { "tokens of \($0)" } ?? "set" },
                "rules": rules.map { (kind: $0.key, sentence: $0.value.sentence) },
                "kinds": settings.tokenKinds.map { (name: $0.name, topic: $0.topic(of: app.bundleID)) },
                "apps": apps, "fault": fault,
            ]
        )
    }

    private func row(_ key: APIKeyRecord) -> TemplateContext {
        let (isValid, isExpiring) = (key.isValid(at: now), key.expiresSoon(at: now))
        return [
            "key": key, "isValid": isValid, "isOwn": key.id.rawValue == visit.session?.holder,
            "state": isExpiring ? "expires soon" : key.state(at: now),
            "tone": isExpiring ? "warn" : isValid ? "good" : "over",
        ]
    }

    /// The caller must type the key's name.
    func revokeKey() async throws -> Response {
        let name = call.parameter("keyId")
        guard field("confirmation") == name else {
            return try await showKeys(fault: "No key was revoked. Type “\(name)” to confirm.")
        }
        guard let id = try? APIKeyID(name),
            try await registry.revokeKey(id, ofApp: scope.app.id, by: principal.who)
        else { throw Problem(.keyNotFound, "The app has no key with this id.") }
        call.parts.keys.forget(id)
        return .seeOther(try link.page("keys"))
    }

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

extension AliasRule {
    fileprivate var sentence: String {
        switch self {
        case .any: "any client may set it"
        case .signedIn: "signed-in users may set it"
        case .subject: "a signed-in user may set it to their own id"
        case .backend: "sender and admin keys may set it"
        }
    }
}
