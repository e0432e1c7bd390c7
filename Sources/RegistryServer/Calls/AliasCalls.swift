import RegistryCore
import RegistryStore

extension ScopedCall {
    func listActivities() async throws -> Response {
        var parameters = ParameterReader(call)
        let candidate = readAlias(&parameters)
        let limit = parameters.limit()
        let includesMetadata = readInclusion(&parameters)
        let position = try readCursor(&parameters, of: candidate?.list("activities"), "this alias")
        let alias = try parameters.checked(candidate)
        guard !call.wantsLines else { return try await streamActivities(of: alias, includesMetadata) }
        let start = position?.number ?? 0
        var page = try await registry.page(of: alias, after: start, limit: limit, in: scope, on: call.executor)
        if includesMetadata { page = try await registry.describe(page, in: scope) }
        return .json { json in
            json.writeAddress(of: alias, in: scope)
            json.member("activities", page.activities)
            json.member("channels", page.channels)
            json.writeNextCursor(page.next.map { ListPosition(number: $0) }, of: alias.list("activities"), in: scope)
        }
    }

    private func streamActivities(of alias: Alias, _ includesMetadata: Bool) async throws -> Response {
        let limit = ActivityStream.firstPageSize
        var first = try await registry.page(of: alias, after: 0, limit: limit, in: scope)
        if includesMetadata { first = try await registry.describe(first, in: scope) }
        return .stream(
            ActivityStream(
                registry: registry,
                alias: alias,
                scope: scope,
                first: first,
                includesMetadata: includesMetadata
            )
        )
    }

    private enum Inclusion: String, CaseIterable { case metadata }

    /// Whether the caller asks for metadata.
    func readInclusion(_ parameters: inout ParameterReader) -> Bool {
        parameters.query("include", as: Inclusion.read) != nil
    }

    func endAll() async throws -> Response {
        let ended = try await registry.endAll(under: read(readAlias), in: scope, by: who)
        return .json { $0.member("ended", ended) }
    }

    func resolve() async throws -> Response {
        var parameters = ParameterReader(call)
        let inclusion = readInclusion(&parameters)
        let body = try call.readChecked { ResolveBody.read(&$0) }
        let found = try await resolveAliases(body, includesMetadata: parameters.checked(inclusion))
        let count = found.reduce(0) { $0 + $1.activities.count }
        guard count > Self.mostWrittenAtOnce else { return body.response(of: found, activityCount: count) }
        // Serializing would block the other connections of the event loop.
        return await withTaskExecutorPreference(globalConcurrentExecutor) {
            await body.responseElsewhere(of: found, activityCount: count)
        }
    }

    /// About a millisecond of work.
    private static var mostWrittenAtOnce: Int { 500 }

    private func resolveAliases(_ body: ResolveBody, includesMetadata: Bool) async throws -> [ResolvedAlias] {
        let aliases = body.aliases.compactMap { try? $0.get() }
        guard !aliases.isEmpty else { return [] }
        let (limit, most) = (body.limitPerAlias, includesMetadata ? Registry.mostDescribed : Registry.mostResolved)
        var found = try await registry.resolve(aliases, limitPerAlias: limit, most: most, in: scope)
        guard includesMetadata else { return found }
        var described = try await registry.describe(found.flatMap(\.activities), in: scope)[...]
        for index in found.indices {
            let count = found[index].activities.count
            found[index].activities = Array(described.prefix(count))
            described = described.dropFirst(count)
        }
        return found
    }
}

extension ResolveBody {
    fileprivate func response(of found: [ResolvedAlias], activityCount: Int) -> Response {
        var found = found[...]
        return .json(reservingCapacity: 1024 + 512 * activityCount) { json in
            json.array("results") { json in
                for alias in aliases { json.writeResult(of: alias, from: &found) }
            }
        }
    }

    /// Asynchronous, so that it runs on the task's preferred executor.
    fileprivate func responseElsewhere(of found: [ResolvedAlias], activityCount: Int) async -> Response {
        response(of: found, activityCount: activityCount)
    }
}

extension JSONWriter {
    /// Writes the next result for a valid item, and the problem of another item.
    mutating func writeResult<Item>(
        of item: Result<Item, Problem>,
        from results: inout ArraySlice<some JSONEncodable>
    ) {
        switch item {
        case .success: if let result = results.popFirst() { value(result) } else { writeProblem(.lostResult) }
        case .failure(let problem): writeProblem(problem)
        }
    }

    mutating func writeNextCursor(_ next: ListPosition?, of list: @autoclosure () -> [String], in scope: Scope) {
        if let next { member("nextCursor", next.cursor(of: list(), in: scope)) }
    }

    private mutating func writeProblem(_ problem: Problem) { object { $0.member("problem", problem) } }
}

extension ScopedCall {
    func readAlias(_ parameters: inout ParameterReader) -> Alias? {
        let kind = parameters.path("kind", Alias.kind)
        let value = parameters.path("value", Alias.value)
        guard let kind, let value else { return nil }
        return Alias(checkedKind: kind, value: value)
    }

    /// - Parameters:
    ///   - list: Nil after a fault in the list's parameters. The cursor is then not read.
    ///   - title: Names the list in a fault.
    func readCursor(
        _ parameters: inout ParameterReader,
        of list: @autoclosure () -> [String]?,
        _ title: String
    ) throws(Problem) -> ListPosition? {
        guard !call.query["cursor"].isEmpty, let list = list() else { return nil }
        let isFirstFault = parameters.faults.isEmpty
        let position = parameters.query("cursor") { text throws(JSONFaultReason) in
            try ListPosition(cursor: text, of: list, in: scope, title)
        }
        guard isFirstFault, !parameters.faults.isEmpty else { return position }
        throw .invalidCursor(of: "list", parameters.faults)
    }
}

extension Problem {
    static func invalidCursor(of list: String, _ faults: [JSONFault]) -> Problem {
        var problem = Problem(.invalidCursor, "The cursor does not belong to this \(list). Start without a cursor.")
        problem.errors = faults
        return problem
    }
}

extension ResolvedAlias: JSONObjectEncodable {
    package func writeMembers(to json: inout JSONWriter) {
        json.member("alias", alias)
        json.member("activities", activities)
        json.member("channels", channels)
        json.member("truncated", isTruncated)
    }
}
