import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore

extension ScopedCall {
    /// Newest first.
    func listEvents() async throws -> Response {
        var parameters = ParameterReader(call)
        let filter = readEventFilter(&parameters)
        let limit = parameters.query("limit", ParameterReader.limit) ?? ResolveBody.defaultLimit
        let list = self.list("events", ["activityId", "installationId", "subject", "alias", "type", "since", "until"])
        let position = try readPosition(&parameters, of: list)
        try parameters.checked()
        let page = try await registry.events(filter, before: position?.number, limit: limit, in: scope)
        return .json { json in
            json.member("events", page.items)
            json.member("nextCursor", ifPresent: page.next.map { Cursor.encode(after: $0, of: list, in: scope) })
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
        filter.since = parameters.query("since", ParameterReader.timestamp)
        filter.until = parameters.query("until", ParameterReader.timestamp)
        return filter
    }

    func explainAlias() async throws -> Response {
        var parameters = ParameterReader(call)
        let kind = parameters.requiredQuery("kind", Alias.kind)
        let value = parameters.requiredQuery("value", Alias.value)
        let limit = parameters.query("limit", ParameterReader.limit) ?? ResolveBody.defaultLimit
        let list = self.list("explain", ["kind", "value"])
        let given = try readPosition(&parameters, of: list)
        let (checkedKind, checkedValue) = try parameters.checked(kind, value)
        let alias = Alias(checkedKind: checkedKind, value: checkedValue)
        let position = given.map { ExplainPosition(isClosed: $0.part > 0, key: $0.number) }
        // One extra row shows whether another page exists.
        let found = try await registry.explain(alias, after: position ?? .start, limit: limit + 1, in: scope)
        return .json { json in
            json.member("alias", alias)
            json.member("notes", found.notes)
            json.member("activities", Array(found.activities.prefix(limit)))
            json.member("tokens", found.tokens)
            json.member("leases", found.leases)
            guard found.activities.count > limit else { return }
            let last = found.activities[limit - 1]
            let cursor = Cursor.encode(after: last.key, part: last.isClosed ? 1 : 0, of: list, in: scope)
            json.member("nextCursor", cursor)
        }
    }
}

extension ScopedCall {
    func list(_ name: String, _ filters: [String]) -> [String] {
        [name] + filters.flatMap { filter in call.query[filter].map { "\(filter)=\($0)" } }
    }

    func readPosition(
        _ parameters: inout ParameterReader,
        of list: [String]
    ) throws(Problem) -> (part: Int, number: Int64)? {
        try readCursor(&parameters) { text throws(JSONFaultReason) in try Cursor.decode(text, of: list, in: scope) }
    }
}

extension ScopedCall {
    func readStatistics() async throws -> Response {
        var parameters = ParameterReader(call)
        let window = parameters.query("window", Self.window) ?? .seconds(86_400)
        try parameters.checked()
        return .json(.ok, try await registry.statistics(over: window, in: scope))
    }

    private static func window(_ text: String) throws(JSONFaultReason) -> Duration {
        guard let window = ISO8601Duration.parse(text), RegistryStatistics.windows.contains(window) else {
            throw JSONFaultReason("must be an ISO 8601 duration from PT1H to P30D")
        }
        return window
    }
}
