import HTTPTypes
import NIOCore
import RegistryCore
import RegistryStore

extension ScopedCall {
    func listActivities() async throws -> Response {
        var parameters = ParameterReader(call: call)
        let candidate = readAlias(&parameters)
        let limit = parameters.limit()
        let includesMetadata = readInclusion(&parameters)
        let position = try readCursor(&parameters, of: candidate?.list("activities"), "this alias")
        let alias = try parameters.checked(candidate)
        let (start, most) = call.wantsLines ? (0, ActivityStream.pageSize) : (position?.number ?? 0, limit)
        let page = try await registry.page(of: alias, after: start, limit: most, in: scope, on: call.executor)
        let found = page.activities
        let metadata =
            includesMetadata
            ? try await registry.metadata(of: found.map(\.key), found.map(\.installation), in: scope) : nil
        guard !call.wantsLines else {
            return .stream(
                ActivityStream(registry: registry, alias: alias, scope: scope, first: page, metadata: metadata)
            )
        }
        return .json { json in
            json.writeAddress(of: alias, in: scope)
            json.array("activities") { json in for activity in found { activity.encode(to: &json, with: metadata) } }
            json.member("channels", page.channels)
            json.writeNextCursor(page.next.map { ListPosition(number: $0) }, of: alias.list("activities"), in: scope)
        }
    }

    private enum Inclusion: String, CaseIterable { case metadata }

    func readInclusion(_ parameters: inout ParameterReader) -> Bool {
        parameters.query("include", as: Inclusion.read) != nil
    }

    func endAll() async throws -> Response {
        let ended = try await registry.endAll(under: read(readAlias), in: scope, by: who)
        return .json { $0.member("ended", ended) }
    }

    func resolve() async throws -> Response {
        var parameters = ParameterReader(call: call)
        let inclusion = readInclusion(&parameters)
        let read = parameters.body { json, _ in ResolveBody.read(&json) }
        let (body, includesMetadata) = try parameters.checked(read, inclusion)
        let valid = body.aliases.compactMap { try? $0.get() }
        let limit = body.limitPerAlias
        let found =
            try await valid.isEmpty
            ? [] : registry.resolve(valid, limitPerAlias: limit, includesMetadata: includesMetadata, in: scope)
        let count = found.reduce(0) { $0 + $1.activities.count }
        // About a millisecond of work.
        guard count > 500 else { return body.response(of: found, activityCount: count) }
        // Serializing would block the other connections of the event loop.
        return await withTaskExecutorPreference(globalConcurrentExecutor) {
            body.response(of: found, activityCount: count)
        }
    }

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

    func putChannel() async throws -> Response {
        var parameters = ParameterReader(call: call)
        let candidate = readAlias(&parameters)
        let body = parameters.body { json, _ in BroadcastChannel.read(&json) }
        let (alias, channel) = try parameters.checked(candidate, body)
        let isNew = try await registry.put(channel, for: alias, in: scope, by: who)
        return response(isNew ? .created : .ok, channel, of: alias)
    }

    func readChannel() async throws -> Response {
        let alias = try read(readAlias)
        guard let channel = try await registry.channel(of: alias, in: scope) else {
            throw Problem(.channelNotFound, "The alias has no channel in this app and environment.")
        }
        return response(.ok, channel, of: alias)
    }

    /// Succeeds without a channel, too.
    func deleteChannel() async throws -> Response {
        try await registry.deleteChannel(of: read(readAlias), in: scope, by: who)
        return .noContent
    }

    private func response(_ status: HTTPResponse.Status, _ channel: BroadcastChannel, of alias: Alias) -> Response {
        .json(status) { json in
            json.member("alias", alias)
            channel.writeMembers(to: &json)
        }
    }

    func plan() async throws -> Response {
        let longestLease = scope.app.settings.activityLifetime
        var parameters = ParameterReader(call: call)
        let includesMetadata = readInclusion(&parameters)
        let read = parameters.body { json, _ in PlanRequest.read(&json, longestLease: longestLease) }
        var (request, inclusion) = try parameters.checked(read, includesMetadata)
        request.includesMetadata = inclusion
        let position = try readPosition(of: request)
        let page = try await registry.plan(request, after: position, in: scope, by: who)
        return .json { json in
            json.writeAddress(of: request.alias, in: scope)
            json.member("channels", page.channels)
            json.array("installations") { json in
                for entry in page.entries { entry.encode(to: &json, in: scope.app.bundleID, with: page.metadata) }
            }
            json.writeNextCursor(page.next, of: Self.list(of: request), in: scope)
        }
    }

    func releaseLease() async throws -> Response {
        try await registry.release(read { $0.path("leaseId", LeaseID.init) }, in: scope, by: who)
        return .noContent
    }

    private static func list(of request: PlanRequest) -> [String] {
        ([request.alias] + request.to).flatMap { $0.list("plan") }
    }

    private func readPosition(of request: PlanRequest) throws(Problem) -> ListPosition {
        guard let text = request.cursor else { return .start }
        do throws(JSONFaultReason) {
            let title = "a plan for this alias and these recipients"
            return try ListPosition(cursor: text, of: Self.list(of: request), in: scope, title)
        } catch { throw .invalidCursor(of: "plan", [JSONFault(pointer: "/cursor", detail: error.detail)]) }
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

    mutating func writeAddress(of alias: Alias, for kind: TokenKind = .update, in scope: Scope) {
        member("alias", alias)
        member("topic", kind.topic(of: scope.app.bundleID))
        member("pushType", kind.pushType)
    }

    fileprivate mutating func writeLines(_ activities: [ResolvedActivity], _ metadata: FoundMetadata?) {
        for activity in activities {
            activity.encode(to: &self, with: metadata)
            newline()
        }
    }

    private mutating func writeProblem(_ problem: Problem) { object { $0.member("problem", problem) } }
}

extension Problem {
    static func invalidCursor(of list: String, _ faults: [JSONFault]) -> Problem {
        Problem(.invalidCursor, "The cursor does not belong to this \(list). Start without a cursor.", errors: faults)
    }
}

extension ResolvedAlias: JSONObjectEncodable {
    package func writeMembers(to json: inout JSONWriter) {
        json.member("alias", alias)
        json.array("activities") { json in for activity in activities { activity.encode(to: &json, with: metadata) } }
        json.member("channels", channels)
        json.member("truncated", isTruncated)
    }
}

/// All activities of an alias as NDJSON, in bounded memory.
///
/// Holds no connection to Postgres and no snapshot between pages, so a stalled reader costs only its own connection.
/// After an error, the last line and the final chunk are missing.
struct ActivityStream: ResponseStream {
    let registry: Registry
    let alias: Alias
    let scope: Scope
    /// Read before the head is sent, so that a failure of Postgres is a 503.
    let first: AliasPage
    /// Of the first page; nil unless requested.
    var metadata: FoundMetadata?
    /// Rows per read. A stalled reader keeps up to three times as many lines in memory.
    static let pageSize = 500

    func write(to writer: Exchange) async throws {
        var json = JSONWriter(reservingCapacity: 32 * 1024)
        json.object { json in
            json.writeAddress(of: alias, in: scope)
            json.member("channels", first.channels)
        }
        json.newline()
        json.writeLines(first.activities, metadata)
        try await writer.write(ByteBuffer(bytes: json.bytes))
        json = JSONWriter()
        var count = first.activities.count
        if let last = first.next {
            try await registry.forEachRange(
                of: alias,
                after: last,
                in: scope,
                rangeSize: Self.pageSize,
                includesMetadata: metadata != nil,
                prepare: { activities, metadata in
                    // A line without aliases has some 300 bytes.
                    var json = JSONWriter(reservingCapacity: activities.count * 384)
                    json.writeLines(activities, metadata)
                    return (count: activities.count, bytes: ByteBuffer(bytes: json.bytes))
                },
                receive: { lines in
                    count += lines.count
                    try await writer.write(lines.bytes)
                }
            )
        }
        json.writeEnd(count: count)
        try await writer.write(ByteBuffer(bytes: json.bytes))
    }
}
