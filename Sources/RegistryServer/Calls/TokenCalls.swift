import HTTPTypes
import RegistryCore
import RegistryStore

extension ScopedCall {
    /// - Parameter kind: Nil if the path names it.
    func registerToken(of kind: TokenKind?) async throws -> Response {
        var parameters = ParameterReader(call)
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
        var parameters = ParameterReader(call)
        let installation = readInstallation(&parameters)
        let slot = readSlot(of: kind, &parameters)
        let observedAt = parameters.time("observedAt")
        let (place, hash) = try parameters.checked(slot, installation)
        let claimant = try findClaimant(hash)
        try await registry.deleteToken(
            in: place,
            of: hash,
            observedAt: observedAt,
            in: scope,
            by: who,
            claimant: claimant
        )
        return .noContent
    }

    func releaseToken(of kind: TokenKind?) async throws -> Response {
        var parameters = ParameterReader(call)
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

    fileprivate func readKind(_ parameters: inout ParameterReader) -> TokenKind? {
        let kinds = scope.app.settings.allTokenKinds.filter { $0 != .update && $0 != .start }
        return parameters.path("tokenKind") { name throws(JSONFaultReason) in try TokenKind(name, among: kinds) }
    }
}

extension ScopedCall {
    func listTokens(of kind: TokenKind?) async throws -> Response {
        var parameters = ParameterReader(call)
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
        var found = try await registry.tokens(
            under: alias,
            kind,
            attributesType: attributesType,
            after: position ?? .start,
            limit: limit + 1,
            in: scope
        )
        let last = found.count > limit ? found[limit - 1] : nil
        if includesMetadata { found = try await registry.describe(found, in: scope) }
        return .json { json in
            json.writeAddress(of: alias, for: kind, in: scope)
            json.array("tokens") { json in
                for token in found.prefix(limit) { token.encode(to: &json, in: scope.app.bundleID) }
            }
            json.writeNextCursor(last?.position, of: list ?? [], in: scope)
        }
    }
}
