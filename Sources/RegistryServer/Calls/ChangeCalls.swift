import HTTPTypes
import RegistryCore
import RegistryStore

extension ScopedCall {
    func followChanges() async throws -> Response {
        var parameters = ParameterReader(call: call)
        let filter = readChangeFilter(&parameters)
        let limit = parameters.query("limit", within: ResolveBody.limits) ?? ChangeFeed.pageSize
        let wait = Duration.seconds(parameters.query("wait", within: 0...60) ?? 0)
        let after = parameters.query("after", ChangePosition.init)
        let resumed = parameters.field(HTTPField.Name("Last-Event-ID")!, ChangePosition.init)
        try parameters.checked()
        let position = resumed ?? after
        guard let format = ChangeFormat(call.fields, wantsLines: call.wantsLines) else {
            return try await changes(after: position, filter, limit: limit, wait: wait)
        }
        let follower = try call.metrics.followers.countFollower()
        let first = try await firstBatch(after: position)
        let stream = ChangeStream(call: self, filter: filter, format: format, first: first, follower: follower)
        // Without this field nginx buffers the response.
        let fields: HTTPFields = [.contentType: format.mediaType, HTTPField.Name("X-Accel-Buffering")!: "no"]
        return Response(fields: fields, body: .stream(stream))
    }

    private func firstBatch(after position: ChangePosition?) async throws -> ChangeBatch {
        guard let position else { return ChangeBatch([], try await registry.presentChangePosition()) }
        return ChangeBatch(try await registry.changes(after: position, limit: ChangeFeed.pageSize, in: scope))
    }

    private func changes(
        after position: ChangePosition?,
        _ filter: ChangeFilter,
        limit: Int,
        wait: Duration
    ) async throws -> Response {
        guard let position else { return Self.response([], try await registry.presentChangePosition(), hasMore: false) }
        var reader = ChangePages(call: self, filter: filter, limit: limit, position: position)
        var found = try await reader.next()
        guard found.isEmpty, !reader.hasMore, wait > .zero else {
            return Self.response(found, reader.position, hasMore: reader.hasMore)
        }
        let deadline = ContinuousClock.now + wait
        while found.isEmpty, !reader.hasMore, ContinuousClock.now < deadline {
            var batches = call.parts.changeFeed.follow(scope, until: deadline).makeAsyncIterator()
            _ = try? await batches.next()
            found = try await reader.next()
            while found.isEmpty, !reader.hasMore, let batch = try? await batches.next() {
                if !batch.changes(filter).isEmpty { found = try await reader.next() }
            }
            // The wait is over, or the service stops.
            if call.parts.shutdownNotice.isGiven { break }
        }
        if found.isEmpty, !reader.hasMore { found = try await reader.next() }
        return Self.response(found, reader.position, hasMore: reader.hasMore)
    }

    private static func response(_ changes: [Change], _ position: ChangePosition, hasMore: Bool) -> Response {
        .json { json in
            json.member("changes", changes)
            json.member("after", position.text)
            json.member("more", hasMore)
        }
    }

    private func readChangeFilter(_ parameters: inout ParameterReader) -> ChangeFilter {
        var filter = ChangeFilter()
        filter.types = parameters.query("types") { text throws(JSONFaultReason) in
            Set(text.split(separator: ",").map { UTF8Text(String($0)) })
        }
        filter.alias = parameters.query("alias", Alias.init(pair:))
        filter.installation = parameters.query("installation", InstallationHash.init(hexadecimal:))
        return filter
    }
}

private struct ChangePages {
    let call: ScopedCall
    let filter: ChangeFilter
    let limit: Int
    var position: ChangePosition
    var hasMore = false

    /// The limit of pages read for one response without a matching change.
    private static let mostEmptyPages = 20

    mutating func next() async throws -> [Change] {
        for _ in 0..<Self.mostEmptyPages {
            let page = try await call.registry.changes(after: position, limit: limit, in: call.scope)
            (position, hasMore) = (page.position, page.hasMore)
            let found = ChangeBatch(page).changes(filter)
            if !found.isEmpty || !hasMore { return found }
        }
        return []
    }
}
