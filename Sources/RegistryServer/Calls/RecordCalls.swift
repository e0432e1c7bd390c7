import Foundation
import HTTPTypes
import RegistryCore
import RegistryRules
import RegistryStore

extension ScopedCall {
    func register() async throws -> Response {
        var parameters = ParameterReader(call: call)
        let candidate = parameters.path("activityId", ActivityID.init)
        let registration = parameters.body(readRegistration)
        let id = try parameters.checked(candidate)
        let claimant = try checkRights(to: registration)
        let executor = call.executor
        let result = try await registrations.counting(.update, \.outcome) {
            try await registry.register(registration, as: id, in: scope, by: who, claimant: claimant, on: executor)
        }
        return .json(result.outcome == .registered ? .created : .ok, result)
    }

    /// For apps with only a token and a `liveactivityId`.
    func registerByAlias() async throws -> Response {
        var parameters = ParameterReader(call: call)
        let (value, registration) = parameters.body { json, parameters in
            (json.string("alias", Alias.value), readRegistration(&json, &parameters))
        }
        let name = try parameters.checked(value)
        let claimant = try checkRights(to: registration)
        try checkAliases(AliasSet(stored: [Alias(checkedKind: Alias.liveActivityKind, value: name)]))
        let owner = findOwner(registration.installation)
        let result = try await registrations.counting(.update, \.outcome) {
            try await registry.register(registration, alias: name, owner: owner, in: scope, by: who, claimant: claimant)
        }
        return .json(result.outcome == .registered ? .created : .ok, result)
    }

    func readActivity() async throws -> Response {
        let id = try read { $0.path("activityId", ActivityID.init) }
        guard let record = try await registry.activity(id, in: scope) else {
            throw Problem(.activityNotFound, "The activity is unknown in this app and environment.")
        }
        var json = JSONWriter(reservingCapacity: 1024)
        record.encode(to: &json, bundleID: scope.app.bundleID, environment: scope.environment)
        return Response(fields: [.contentType: MediaType.json], body: .bytes(json.bytes))
    }

    /// Succeeds for unknown activities, too.
    func end() async throws -> Response {
        var parameters = ParameterReader(call: call)
        let candidate = parameters.path("activityId", ActivityID.init)
        let (reason, time, installation) = readEnding(&parameters)
        let id = try parameters.checked(candidate)
        let claimant = try findClaimant(installation)
        try await registry.end(id, reason: reason, observedAt: time, in: scope, by: who, claimant: claimant)
        return .noContent
    }

    func endByAlias() async throws -> Response {
        var parameters = ParameterReader(call: call)
        let value = parameters.requiredQuery("alias", Alias.value)
        let (reason, time, installation) = readEnding(&parameters)
        let alias = try parameters.checked(value)
        let claimant = try findClaimant(installation)
        try await registry.end(
            alias: alias,
            owner: findOwner(installation),
            reason: reason,
            observedAt: time,
            in: scope,
            by: who,
            claimant: claimant
        )
        return .noContent
    }

    private func readRegistration(
        _ json: inout JSONReader,
        _ parameters: inout ParameterReader
    ) -> ActivityRegistration {
        var registration = ActivityRegistration(from: &json)
        registration.installation = readInstallation(&json, &parameters)
        registration.subject = call.principal.subject
        return registration
    }

    private func readEnding(_ parameters: inout ParameterReader) -> (EndReason, observedAt: Date?, InstallationHash?) {
        let reason = parameters.query("reason", as: EndReason.read)
        let observedAt = parameters.time("observedAt")
        return (reason ?? .ended, observedAt, readInstallation(&parameters))
    }

    /// The store checks the ownership of records.
    private func checkRights(to registration: ActivityRegistration) throws(Problem) -> Claimant {
        let claimant = try findClaimant(registration.installation)
        try checkAliases(registration.aliases)
        return claimant
    }

    /// The owner of a name-only activity: the app for backends only, because clients without identity were rejected.
    private func findOwner(_ installation: InstallationHash?) -> ActivityOwner {
        ActivityOwner(installation: installation, subject: call.principal.subject)
    }
}

extension ScopedCall {
    func applyFullState() async throws -> Response {
        var parameters = ParameterReader(call: call)
        let (installation, body) = parameters.body { json, parameters in
            (readInstallation(&json, &parameters), FullStateBody.read(&json))
        }
        let (state, hash) = try parameters.checked(body, installation)
        let permitted = state.readable.permitted(by: self)
        let claimant = try findClaimant(hash)
        let result = try await registry.apply(permitted, of: hash, in: scope, by: who, claimant: claimant)
        for item in result.results { registrations.count(item, of: .update) }
        return .json { json in
            json.member("results", state.results(result))
            json.member("ended", result.ended.map(\.rawValue))
        }
    }

    func putInstallation() async throws -> Response {
        var parameters = ParameterReader(call: call)
        let (installation, profile) = parameters.body { json, parameters in
            (readInstallation(&json, &parameters), InstallationProfile(from: &json))
        }
        let hash = try parameters.checked(installation)
        try checkAliases(profile.aliases)
        let claimant = try findClaimant(hash)
        let result = try await registry.put(profile, for: hash, in: scope, by: who, claimant: claimant)
        return .json(result.isNew ? .created : .ok, result)
    }

    func readInstallationRecord() async throws -> Response {
        let installation = try read { readInstallation(&$0) }
        guard let record = try await registry.installation(installation, in: scope) else {
            throw Problem(.installationNotFound, "The installation is unknown in this app and environment.")
        }
        return .json(.ok, record)
    }

    func logOut() async throws -> Response {
        var parameters = ParameterReader(call: call)
        let candidate = readInstallation(&parameters)
        let observedAt = parameters.time("observedAt")
        let installation = try parameters.checked(candidate)
        let claimant = try findClaimant(installation)
        try await registry.logOut(installation, observedAt: observedAt, in: scope, by: who, claimant: claimant)
        return .noContent
    }

    func readInstallation(_ json: inout JSONReader, _ parameters: inout ParameterReader) -> InstallationHash? {
        let stated = json.optionalString("installationId", InstallationID.init)
        return readInstallation(&parameters, inBody: stated)
    }

    /// The installation that the header, the path and the body name. They must agree.
    func readInstallation(
        _ parameters: inout ParameterReader,
        inBody stated: InstallationID? = nil
    ) -> InstallationHash? {
        var found: InstallationHash?
        func add(_ id: InstallationID?) {
            guard let id else { return }
            let hash = InstallationHash(of: id, in: scope.app.bundleID)
            if let found, found != hash {
                let detail = "differs from another value in the request"
                parameters.add([JSONFault(pointer: "/installationId", detail: detail)])
            }
            found = found ?? hash
        }
        add(parameters.field(.installationID, InstallationID.init))
        add(parameters.path("installationId", InstallationID.init))
        add(stated)
        return found
    }

    /// - Parameter kind: Nil if the path names it.
    func registerToken(of kind: TokenKind?) async throws -> Response {
        var parameters = ParameterReader(call: call)
        let (installation, slot, registration) = parameters.body { json, parameters in
            (readInstallation(&json, &parameters), readSlot(of: kind, &parameters), TokenRegistration.read(&json))
        }
        let (value, place, hash) = try parameters.checked(registration, slot, installation)
        let claimant = try findClaimant(hash)
        let result = try await registrations.counting(place.kind, \.outcome) {
            try await registry.register(value, in: place, of: hash, in: scope, by: who, claimant: claimant)
        }
        return .json(result.outcome == .registered ? .created : .ok, result)
    }

    /// Tokens observed later stay.
    func deleteToken(of kind: TokenKind?) async throws -> Response {
        var parameters = ParameterReader(call: call)
        let installation = readInstallation(&parameters)
        let slot = readSlot(of: kind, &parameters)
        let time = parameters.time("observedAt")
        let (place, hash) = try parameters.checked(slot, installation)
        let claimant = try findClaimant(hash)
        try await registry.deleteToken(in: place, of: hash, observedAt: time, in: scope, by: who, claimant: claimant)
        return .noContent
    }

    func releaseToken(of kind: TokenKind?) async throws -> Response {
        var parameters = ParameterReader(call: call)
        let installation = readInstallation(&parameters)
        let slot = readSlot(of: kind, &parameters)
        let (place, hash) = try parameters.checked(slot, installation)
        try await registry.releaseToken(in: place, of: hash, in: scope, by: who)
        return .noContent
    }

    private func readSlot(of kind: TokenKind?, _ parameters: inout ParameterReader) -> TokenSlot? {
        guard let kind = kind ?? readKind(&parameters) else { return nil }
        guard kind.holder == .attributesType else {
            // It has no effect here, but an invalid value is refused.
            _ = parameters.query("attributesType", AttributesType.init)
            return .only(kind)
        }
        let type =
            kind == .start
            ? parameters.path("attributesType", AttributesType.init)
            : parameters.requiredQuery("attributesType", AttributesType.init)
        return type.map { TokenSlot(of: kind, $0) }
    }

    private func readKind(_ parameters: inout ParameterReader) -> TokenKind? {
        let kinds = scope.app.settings.allTokenKinds.filter { $0 != .update && $0 != .start }
        return parameters.path("tokenKind") { name throws(JSONFaultReason) in try TokenKind(name, among: kinds) }
    }

    func listTokens(of kind: TokenKind?) async throws -> Response {
        var parameters = ParameterReader(call: call)
        let named = kind ?? readKind(&parameters)
        let candidate = readAlias(&parameters)
        let limit = parameters.limit()
        let includesMetadata = readInclusion(&parameters)
        let isStart = named?.holder == .attributesType
        let givenType = parameters.query("attributesType", AttributesType.init)
        let attributesType = isStart ? givenType : nil
        let list = candidate.flatMap { alias in named.map { alias.list("tokens") + [$0.name] } }
        let position = try readCursor(&parameters, of: list, "this alias")
        let (kind, alias) = try parameters.checked(named, candidate)
        // One more than requested shows whether there is another page.
        let found = try await registry.tokens(
            under: alias,
            kind,
            attributesType: attributesType,
            after: position ?? .start,
            limit: limit + 1,
            in: scope
        )
        let last = found.count > limit ? found[limit - 1] : nil
        let metadata = try await includesMetadata ? registry.metadata(found.map(\.installation), in: scope) : nil
        return .json { json in
            json.writeAddress(of: alias, for: kind, in: scope)
            json.array("tokens") { json in
                for token in found.prefix(limit) { token.encode(to: &json, in: scope.app.bundleID, with: metadata) }
            }
            json.writeNextCursor(last?.position, of: list ?? [], in: scope)
        }
    }
}

extension FullState {
    /// Adds the subject. An item with a forbidden alias gets that problem, and its activity counts as present.
    fileprivate func permitted(by call: ScopedCall) -> FullState {
        let items = items.map { item in
            guard var registration = item.registration else { return item }
            do throws(Problem) {
                try call.checkAliases(registration.aliases)
            } catch { return item.refused(for: error) }
            registration.subject = call.call.principal.subject
            var permitted = Item(activityID: item.activityID, registration: registration)
            permitted.pointer = item.pointer
            return permitted
        }
        return FullState(observedAt: observedAt, items: items)
    }
}
