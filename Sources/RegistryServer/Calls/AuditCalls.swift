import HTTPTypes
import RegistryCore
import RegistryStore

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
