import HTTPTypes
import RegistryCore
import RegistryStore

extension ScopedCall {
    /// `PUT` of a start token, or of the token of a kind: registers, rotates or refreshes.
    func registerToken(of kind: TokenKind) async throws -> Answer {
        var parameters = ParameterReader(call)
        let (installation, slot, registration) = call.readBody { json in
            let installation = readInstallation(&json, &parameters)
            let slot = readSlot(of: kind, &parameters)
            let registration = TokenRegistration.read(&json)
            parameters.add(json.faults)
            return (installation, slot, registration)
        }
        let (value, place, hash) = try parameters.checked(registration, slot, installation)
        let claimant = try findClaimant(hash)
        let answer = try await registrations.counting(kind, \.outcome) {
            try await registry.register(value, in: place, of: hash, in: scope, by: who, claimant: claimant)
        }
        return .json(answer.outcome == .registered ? .created : .ok, answer)
    }

    /// `DELETE` of the same: what was observed later stays.
    func deleteToken(of kind: TokenKind) async throws -> Answer {
        var parameters = ParameterReader(call)
        let installation = readInstallation(&parameters)
        let slot = readSlot(of: kind, &parameters)
        let observedAt = parameters.query("observedAt", ParameterReader.timestamp)
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

    /// `POST …/release`: out of quarantine.
    func releaseToken(of kind: TokenKind) async throws -> Answer {
        var parameters = ParameterReader(call)
        let installation = readInstallation(&parameters)
        let slot = readSlot(of: kind, &parameters)
        let (place, hash) = try parameters.checked(slot, installation)
        try await registry.releaseToken(in: place, of: hash, in: scope, by: who)
        return .noContent
    }

    /// Which of the installation's tokens the path names.
    private func readSlot(of kind: TokenKind, _ parameters: inout ParameterReader) -> TokenSlot? {
        guard kind.holder == .attributesType else { return .only(kind) }
        return parameters.path("attributesType", AttributesType.init).map(TokenSlot.start)
    }
}

extension ScopedCall {
    /// `GET …/aliases/{kind}/{value}/start-tokens`, and the same for the tokens of a kind: a page of them.
    func listTokens(of kind: TokenKind) async throws -> Answer {
        var parameters = ParameterReader(call)
        let candidate = readAlias(&parameters)
        let limit = parameters.query("limit", ParameterReader.limit) ?? ResolveBody.defaultLimit
        let isStart = kind.holder == .attributesType
        let attributesType = isStart ? parameters.query("attributesType", AttributesType.init) : nil
        let position = try candidate.flatMap { try readPosition(&parameters, of: kind, under: $0) }
        let alias = try parameters.checked(candidate)
        // One more than asked for tells whether there is another page.
        let found = try await registry.tokens(
            under: alias,
            kind,
            attributesType: attributesType,
            after: position ?? .start,
            limit: limit + 1,
            in: scope
        )
        let last = found.count > limit ? found[limit - 1] : nil
        return .json { json in
            json.writeAddress(of: alias, for: kind, in: scope)
            json.array("tokens") { json in
                for token in found.prefix(limit) { token.encode(to: &json, in: scope.app.bundleID) }
            }
            let cursor = last.map { Cursor.encode(after: $0.position, of: kind, under: alias, in: scope) }
            json.member("nextCursor", ifPresent: cursor)
        }
    }

    private func readPosition(
        _ parameters: inout ParameterReader,
        of kind: TokenKind,
        under alias: Alias
    ) throws(Problem) -> TokenPosition? {
        try readCursor(&parameters) { text throws(JSONFaultReason) in
            try Cursor.decode(text, of: kind, under: alias, in: scope)
        }
    }
}
