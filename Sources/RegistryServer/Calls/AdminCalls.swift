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
        let changes = parameters.body { json, parameters in
            let changes = AppChanges(from: &json)
            if json.faults.isEmpty { parameters.add(faults(ofJWT: changes.jwt)) }
            return changes
        }
        let bundleID = try parameters.checked(candidate)
        try await checkKeySetURL(changes.jwt, of: bundleID)
        defer { forget(bundleID) }
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
        defer { forget(bundleID) }
        guard try await registry.deleteApp(bundleID, by: principal.who) else { throw Problem.unknownApp }
        return .noContent
    }

    private func forget(_ bundleID: BundleID) {
        parts.apps.forget(bundleID)
        parts.issuerKeys.forgetFailure(of: bundleID)
    }

    private func faults(ofJWT settings: JSONObject?) -> [JSONFault] {
        switch (settings?["jwksUrl"], settings?["jwks"]) {
        case (.string(let text)?, _):
            do throws(JSONFaultReason) {
                _ = try KeySetURL(text, allowsInternal: parts.configuration.allowsInternalJWKS)
                return []
            } catch { return [JSONFault(pointer: "/jwt/jwksUrl", detail: error.detail)] }
        case (_, let keys?): return faults(ofKeys: keys)
        default: return []
        }
    }

    /// Unusable and private keys are faults. Keys for other uses are ignored.
    private func faults(ofKeys set: JSONValue) -> [JSONFault] {
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
            } else if VerificationKey(key) != nil {
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

extension ScopedCall {
    /// Newest first.
    func listEvents() async throws -> Response {
        var parameters = ParameterReader(call: call)
        let filter = readEventFilter(&parameters)
        let limit = parameters.limit()
        let list = self.list("events", ["activityId", "installationId", "subject", "alias", "type", "since", "until"])
        let position = try readCursor(&parameters, of: list, Self.filteredList)
        try parameters.checked()
        let page = try await registry.events(filter, after: position ?? .start, limit: limit, in: scope)
        return .json { json in
            json.member("events", page.items)
            json.writeNextCursor(page.next, of: list, in: scope)
        }
    }

    private func readEventFilter(_ parameters: inout ParameterReader) -> EventFilter {
        var filter = EventFilter()
        filter.activityID = parameters.query("activityId", ActivityID.init)
        filter.installation = parameters.query("installationId", InstallationID.init)
            .map { InstallationHash(of: $0, in: scope.app.bundleID) }
        filter.subject = parameters.query("subject", UTF8Text.subject)
        filter.alias = parameters.query("alias", Alias.init(pair:))
        filter.type = parameters.query("type", ActivityID.init)?.rawValue
        filter.since = parameters.time("since")
        filter.until = parameters.time("until")
        return filter
    }

    func explainAlias() async throws -> Response {
        var parameters = ParameterReader(call: call)
        let kind = parameters.requiredQuery("kind", Alias.kind)
        let value = parameters.requiredQuery("value", Alias.value)
        let limit = parameters.limit()
        let list = self.list("explain", ["kind", "value"])
        let position = try readCursor(&parameters, of: list, Self.filteredList)
        let (checkedKind, checkedValue) = try parameters.checked(kind, value)
        let alias = Alias(checkedKind: checkedKind, value: checkedValue)
        // One extra row shows whether another page exists.
        let found = try await registry.explain(alias, after: position ?? .start, limit: limit + 1, in: scope)
        return .json { json in
            json.member("alias", alias)
            json.member("notes", found.notes)
            json.member("activities", Array(found.activities.prefix(limit)))
            json.member("tokens", found.tokens)
            json.member("leases", found.leases)
            guard found.activities.count > limit else { return }
            json.writeNextCursor(found.activities[limit - 1].position, of: list, in: scope)
        }
    }

    private static let filteredList = "this list with these filters"

    private func list(_ name: String, _ filters: [String]) -> [String] {
        [name] + filters.flatMap { filter in call.query[filter].map { "\(filter)=\($0)" } }
    }

    func readStatistics() async throws -> Response {
        var parameters = ParameterReader(call: call)
        let window = parameters.query("window", as: Duration.within(RegistryStatistics.windows)) ?? .seconds(86_400)
        try parameters.checked()
        return .json(.ok, try await registry.statistics(over: window, in: scope))
    }

    func listStaleTokens() async throws -> Response {
        var parameters = ParameterReader(call: call)
        var filter = StaleFilter()
        filter.kind = parameters.query("kind", StaleFilter.kind(of: scope.app))
        filter.attributesType = parameters.query("attributesType", AttributesType.init)
        filter.reason = parameters.query("reason", as: StaleReason.read)
        filter.unconfirmedFor = parameters.query("unconfirmedFor", StaleFilter.duration)
        let limit = parameters.limit()
        let list = self.list("stale", ["kind", "attributesType", "reason", "unconfirmedFor"])
        let position = try readCursor(&parameters, of: list, Self.filteredList)
        try parameters.checked()
        let page = try await registry.staleTokens(filter, after: position ?? .start, limit: limit, in: scope)
        return .json { json in
            json.member("tokens", page.items)
            json.writeNextCursor(page.next, of: list, in: scope)
        }
    }

    func purgeStaleTokens() async throws -> Response {
        let (filter, isDryRun) = try call.readBody { json in
            let filter = StaleFilter(from: &json, in: scope.app)
            let isDryRun = json.optional("dryRun", Bool.read) ?? true
            try json.check()
            return (filter, isDryRun)
        }
        guard !isDryRun else { return .json(.ok, try await registry.countStaleTokens(filter, in: scope)) }
        let purged = try await registry.purgeStaleTokens(filter, in: scope, by: who)
        return .json { json in
            json.member("dryRun", false)
            json.member("purged", purged)
        }
    }

    func erase() async throws -> Response {
        let subject = try call.readChecked { readSubject(&$0) }
        let counts = try await registry.erase(subject, in: scope, by: who)
        return .json { json in
            json.member("activities", counts.activities)
            json.member("records", counts.records)
            json.member("events", counts.events)
        }
    }

    /// Exactly one of `{alias: {kind, value}}`, `{installationId}` and `{subject}`.
    private func readSubject(_ json: inout JSONReader) -> ErasureSubject? {
        let alias = json.optionalNested("alias") { Alias.read(&$0) }
        let installation = json.optionalString("installationId", InstallationID.init)
        let subject = json.optionalString("subject", UTF8Text.subject)
        let given = ["alias", "installationId", "subject"].filter { json.object[$0].map { !$0.isNull } ?? false }
        if given.count != 1 { json.fault(nil, "must have exactly one of alias, installationId and subject") }
        return alias.map { .alias($0) }
            ?? installation.map { .installation(InstallationHash(of: $0, in: scope.app.bundleID)) }
            ?? subject.map { .subject($0) }
    }
}
