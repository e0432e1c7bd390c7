import HTTPTypes
import RegistryCore
import RegistryStore

extension Call {
    func listApps() async throws -> Response {
        let apps: [App]
        if let own = principal.app {
            apps = [try await registry.app(own)].compactMap { $0 }
        } else {
            apps = try await registry.apps()
        }
        return .json { $0.member("apps", apps) }
    }

    func putApp() async throws -> Response {
        var parameters = ParameterReader(call: self)
        let candidate = parameters.path("bundleId", BundleID.init(_:))
        let (changes, bodyFaults) = readBody { json in (AppChanges(from: &json), json.faults) }
        parameters.add(bodyFaults)
        if bodyFaults.isEmpty { parameters.add(await faults(ofJWT: changes.jwt)) }
        let bundleID = try parameters.checked(candidate)
        try await checkKeySetURL(changes.jwt, of: bundleID)
        defer { parts.apps.forget(bundleID) }
        guard principal.role == .root else {
            // A key of a deleted app can still be cached and must not create the app again.
            let app = try await registry.change(changes, of: bundleID, by: principal.who)
            guard let app else { throw Problem.unknownApp }
            return .json(.ok, app)
        }
        let (app, isNew) = try await registry.put(changes, for: bundleID, by: principal.who)
        return .json(isNew ? .created : .ok, app)
    }

    func readApp() async throws -> Response {
        guard let bundleID = try? BundleID(parameter("bundleId")), let app = try await registry.app(bundleID) else {
            throw Problem.unknownApp
        }
        let guards = try await registry.quarantineGuards(of: app)
        return .json { json in
            app.writeMembers(to: &json)
            json.member("quarantineGuards", guards)
        }
    }

    func deleteApp() async throws -> Response {
        guard let bundleID = try? BundleID(parameter("bundleId")) else { throw Problem.unknownApp }
        defer { parts.apps.forget(bundleID) }
        guard try await registry.deleteApp(bundleID, by: principal.who) else { throw Problem.unknownApp }
        return .noContent
    }

    private func faults(ofJWT settings: JSONObject?) async -> [JSONFault] {
        switch (settings?["jwksUrl"], settings?["jwks"]) {
        case (.string(let text)?, _):
            do throws(JSONFaultReason) {
                _ = try KeySetURL(text, allowsInternal: parts.allowsInternalKeySets)
                return []
            } catch {
                return [JSONFault(pointer: "/jwt/jwksUrl", detail: error.detail)]
            }
        case (_, let keys?): return await faults(ofKeys: keys)
        default: return []
        }
    }

    /// Unusable and private keys are faults. Keys for other uses are ignored.
    private func faults(ofKeys set: JSONValue) async -> [JSONFault] {
        guard case .array(let values)? = set["keys"] else { return [] }
        var faults: [JSONFault] = []
        func add(_ detail: String, at place: String = "") {
            faults.append(JSONFault(pointer: "/jwt/jwks/keys" + place, detail: detail))
        }
        guard (1...VerificationKeySet.maximumCount).contains(values.count) else {
            add("must have 1 to \(VerificationKeySet.maximumCount) keys")
            return faults
        }
        var (ids, fitting): ([JSONValue: Int], Int) = ([:], 0)
        for (index, value) in values.enumerated() {
            guard case .object(let key) = value else { continue }
            if let id = key["kid"] { ids[id, default: 0] += 1 }
            if let id = key["kid"], ids[id] == VerificationKeySet.maximumCandidates + 1 {
                add("is one of more than \(VerificationKeySet.maximumCandidates) keys with its kid", at: "/\(index)")
            }
            if key["d"] != nil || key["k"] != nil {
                add("must be a public key, not a secret key", at: "/\(index)")
            } else if await VerificationKey(key) != nil {
                fitting += 1
            } else if !VerificationKey.isForOthers(key) {
                let usable = "an RSA key of 2048 to 4096 bits, an EC key on P-256 or an OKP key on Ed25519"
                add("must be \(usable), for sig", at: "/\(index)")
            }
        }
        if faults.isEmpty, fitting == 0 {
            add("must have a key for RS256, ES256 or EdDSA; all given keys have other uses")
        }
        return faults
    }

    /// Only root may set the URL, because the service fetches it from inside the operator's network.
    private func checkKeySetURL(_ settings: JSONObject?, of bundleID: BundleID) async throws {
        guard let url = settings?["jwksUrl"], !url.isNull, principal.role != .root else { return }
        guard try await registry.app(bundleID)?.settings.jwt?["jwksUrl"] == url else {
            let remedy = "Use a root key, or give the keys in jwt.jwks."
            throw Problem(.forbidden, "Only a root key may set jwt.jwksUrl. \(remedy)")
        }
    }

    /// Only this response contains the complete key.
    func createKey() async throws -> Response {
        let (app, now) = (try namedApp(), parts.clock.date())
        let request = try readChecked { APIKeyRequest.read(&$0, now: now) }
        let key = APIKey(random: request.role)
        let digest = key.secretDigest
        let record = try await registry.createKey(key.id, digest: digest, request, of: app, by: principal.who)
        parts.keys.forget(key.id)
        var body = JSONWriter()
        record.encode(to: &body, revealing: key)
        return Response(status: .created, fields: [.contentType: MediaType.json], body: .bytes(body.bytes))
    }

    /// Includes revoked and expired keys. Without secrets.
    func listKeys() async throws -> Response {
        let keys = try await registry.keys(of: namedApp())
        return .json { $0.member("keys", keys) }
    }

    func revokeKey() async throws -> Response {
        guard let id = try? APIKeyID(parameter("keyId")),
            try await registry.revokeKey(id, ofApp: namedApp().id, by: principal.who)
        else { throw Problem(.keyNotFound, "The app has no key with this id.") }
        parts.keys.forget(id)
        return .noContent
    }
}

extension Problem {
    /// Callers without access get it for existing apps, too.
    static var unknownApp: Problem {
        Problem(.unknownApp, "The app or environment does not exist. Environments are sandbox and production.")
    }
}

extension QuarantineGuard: JSONObjectEncodable {
    package func writeMembers(to json: inout JSONWriter) {
        json.member("environment", environment.rawValue)
        json.member("kind", kind)
        json.member("trippedAt", trippedAt)
    }
}
