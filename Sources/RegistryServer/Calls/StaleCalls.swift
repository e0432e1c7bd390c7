import HTTPTypes
import RegistryCore
import RegistryStore

extension ScopedCall {
    func listStaleTokens() async throws -> Response {
        var parameters = ParameterReader(call)
        var filter = StaleFilter()
        filter.kind = parameters.query("kind", StaleFilter.kind(of: scope.app))
        filter.attributesType = parameters.query("attributesType", AttributesType.init)
        filter.reason = parameters.query("reason", ParameterReader.choice)
        filter.unconfirmedFor = parameters.query("unconfirmedFor", StaleFilter.duration)
        let limit = parameters.query("limit", ParameterReader.limit) ?? ResolveBody.defaultLimit
        let list = self.list("stale", ["kind", "attributesType", "reason", "unconfirmedFor"])
        let given = try readPosition(&parameters, of: list)
        try parameters.checked()
        let position = given.map { StalePosition(part: $0.part, number: $0.number) }
        let page = try await registry.staleTokens(filter, after: position ?? .start, limit: limit, in: scope)
        return .json { json in
            json.member("tokens", page.items)
            let cursor = page.next.map { Cursor.encode(after: $0.number, part: $0.part, of: list, in: scope) }
            json.member("nextCursor", ifPresent: cursor)
        }
    }

    func purgeStaleTokens() async throws -> Response {
        let (filter, isDryRun) = try call.readBody { json in
            let filter = StaleFilter(from: &json, in: scope.app)
            let isDryRun = json.optionalBool("dryRun") ?? true
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
}
