import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore

extension ConsoleCall {
    func showKeys(fault: String? = nil) async throws -> Response {
        let scope = try requireScope()
        let maySeeKeys = Access.keyCalls.allows(principal)
        let keys = maySeeKeys ? try await registry.keys(of: scope.app) : []
        let apps = isRoot ? try await registry.apps() : []
        let link = ConsoleLink(scope)
        return try page(
            "keys",
            status: fault == nil ? .ok : .unprocessableContent,
            [
                "maySeeKeys": .flag(maySeeKeys), "keys": .list(keys.map { row($0, link) }),
                "hasKeys": .flag(!keys.isEmpty), "settings": .rows(Self.settings(of: scope.app)),
                "rules": .list(
                    scope.app.settings.aliasRules.sorted { $0.key < $1.key }.map {
                        ["ruleKind": .text($0.key.string), "rule": .text($0.value.sentence)]
                    }
                ),
                "kinds": .list(
                    scope.app.settings.tokenKinds.map {
                        ["kindName": .text($0.name), "kindTopic": .text($0.topic(of: scope.app.bundleID))]
                    }
                ),
                "apps": .list(apps.map(Self.row)), "isRoot": .flag(isRoot), "fault": .optional(fault),
            ]
        )
    }

    private func row(_ key: APIKeyRecord, _ link: ConsoleLink) -> TemplateContext {
        let isValid = key.isValid(at: now)
        let isExpiring = key.expiresSoon(at: now)
        return [
            "keyId": .text(key.id.rawValue), "keyRole": .text(key.id.role.rawValue), "keyName": .optional(key.name),
            "created": .row(.moment(key.createdAt, now)), "expires": .optional(.moment(key.expiresAt, now)),
            "lastUsed": .optional(.moment(key.lastUsedAt, now)), "isValid": .flag(isValid),
            "keyState": .text(
                key.revokedAt != nil ? "revoked" : !isValid ? "expired" : isExpiring ? "expires soon" : "valid"
            ),
            "tone": .text(!isValid ? "over" : isExpiring ? "warn" : "good"),
            "isOwn": .flag(key.id.rawValue == visit.session?.holder),
            "revokePath": .text(link.page("keys/\(key.id.rawValue)/revoke")),
        ]
    }

    private static func settings(of app: App) -> [TemplateContext] {
        let settings = app.settings
        let issuer = settings.jwt.map { jwt in
            if case .string(let issuer)? = jwt["issuer"] { "tokens of \(issuer)" } else { "set" }
        }
        return [
            ("Bundle id", app.bundleID.rawValue), ("Name", settings.name ?? "none"),
            ("Lifetime of activities", DisplayText.span(settings.activityLifetime)),
            ("Retention of ended activities", DisplayText.span(settings.tombstoneRetention)),
            ("Retention of audit events", DisplayText.span(settings.eventRetention)),
            ("Signed-in users", issuer ?? "none: no JWT settings"),
        ].map { ["settingName": .text($0), "settingValue": .text($1)] }
    }

    /// The caller must type the key's name.
    func revokeKey() async throws -> Response {
        let scope = try requireScope()
        let name = call.parameter("keyId")
        guard field("confirmation") == name else {
            return try await showKeys(fault: "No key was revoked. Type “\(name)” to confirm.")
        }
        guard let id = try? APIKeyID(name),
            try await registry.revokeKey(id, ofApp: scope.app.id, by: principal.who)
        else { throw Problem(.keyNotFound, "The app has no key with this id.") }
        call.access.keys.forget(id)
        return .seeOther(ConsoleLink(scope).page("keys"))
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
