import HTTPTypes
import NIOCore
import RegistryCore
import RegistryStore
import Synchronization

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
        let follower = try call.metrics.followers.countFollower(of: who)
        let (first, _) = try await call.parts.changeFeed.readBatch(after: position, in: scope)
        let stream = ChangeStream(call: self, filter: filter, format: format, first: first, follower: follower)
        // Without this field nginx buffers the response.
        let fields: HTTPFields = [.contentType: format.mediaType, HTTPField.Name("X-Accel-Buffering")!: "no"]
        return Response(fields: fields, body: .stream(stream))
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
        let permit = try call.metrics.waits.countFollower(of: who)
        defer { permit.finish() }
        let deadline = ContinuousClock.now + wait
        while found.isEmpty, !reader.hasMore, ContinuousClock.now < deadline {
            var batches = call.parts.changeFeed.follow(scope, until: deadline).makeAsyncIterator()
            _ = try? await batches.next()
            found = try await reader.next()
            while found.isEmpty, !reader.hasMore, let batch = try? await batches.next() {
                if !batch.changes(filter).isEmpty { found = try await reader.next() }
            }
            // The wait is over, or the service stops.
            if call.parts.configuration.shutdownNotice.isGiven { break }
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

    mutating func next() async throws -> [Change] {
        // The limit of pages read for one response without a matching change.
        for _ in 0..<20 {
            let page = try await call.registry.changes(after: position, limit: limit, in: call.scope)
            (position, hasMore) = (page.position, page.hasMore)
            let found = ChangeBatch(page).changes(filter)
            if !found.isEmpty || !hasMore { return found }
        }
        return []
    }
}

/// All followers of a scope share a batch and its encoded bytes.
final class ChangeBatch: Sendable {
    let changes: [Change]
    let position: ChangePosition

    private let encoded = Mutex<[ChangeFormat: ByteBuffer]>([:])

    init(_ changes: [Change], _ position: ChangePosition) { (self.changes, self.position) = (changes, position) }

    convenience init(_ page: ChangePage) { self.init(page.changes, page.position) }

    func changes(_ filter: ChangeFilter) -> [Change] { filter.isEmpty ? changes : changes.filter(filter.passes) }

    func bytes(as format: ChangeFormat, _ filter: ChangeFilter) -> ByteBuffer {
        guard filter.isEmpty else { return format.encode(changes(filter), position) }
        return encoded.withLock { encoded in
            if let bytes = encoded[format] { return bytes }
            let bytes = format.encode(changes, position)
            encoded[format] = bytes
            return bytes
        }
    }
}

extension Alias {
    /// The aliases of stored JSON, such as `{"liveactivityId": ["order-42"]}`.
    static func all(in json: [UInt8]?) -> [Alias] {
        guard let json, let kinds = try? JSONParser.parse(json) else { return [] }
        return kinds.members.flatMap { kind, _ in
            kinds.list(kind).compactMap(\.string).map { Alias(checkedKind: UTF8Text(kind), value: UTF8Text($0)) }
        }
    }
}

/// The changes that a follower wants. Its position moves past all changes.
struct ChangeFilter: Sendable, Hashable {
    var types: Set<UTF8Text>?
    var alias: Alias?
    var installation: InstallationHash?
    var isEmpty: Bool { types == nil && alias == nil && installation == nil }

    func passes(_ change: Change) -> Bool {
        if let types, !types.contains(UTF8Text(change.type)) { return false }
        // It has no names, so it can concern every follower.
        if change.type == "erased" { return true }
        if let installation, change.installation != installation { return false }
        guard let alias else { return true }
        return Alias.all(in: change.aliases).contains(alias)
    }
}

enum ChangeFormat: Sendable, Hashable {
    /// NDJSON of changes and bookmarks.
    case lines
    /// Server-sent events (HTML standard, section 9.2).
    case events

    static let eventStream = "text/event-stream"

    init?(_ fields: HTTPFields, wantsLines: Bool) {
        let names = fields[values: .accept].flatMap { $0.split(separator: ",") }.map { MediaType(String($0)).name }
        if names.contains(Self.eventStream) { self = .events } else if wantsLines { self = .lines } else { return nil }
    }

    var mediaType: String {
        switch self {
        case .lines: MediaType.lines
        case .events: Self.eventStream
        }
    }

    func encode(_ changes: [Change], _ position: ChangePosition) -> ByteBuffer {
        // A change has about 250 bytes.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(changes.count * 256 + 512)
        for change in changes { append(named: "change", id: nil, to: &bytes) { change.encode(to: &$0) } }
        let text = position.text
        append(named: "bookmark", id: text, to: &bytes) { json in
            json.object { json in
                json.member("after", text)
                json.member("at", position.time)
            }
        }
        return ByteBuffer(bytes: bytes)
    }

    func encode(_ problem: Problem) -> ByteBuffer {
        var bytes: [UInt8] = []
        append(named: "problem", id: nil, to: &bytes) { json in json.object { $0.member("problem", problem) } }
        return ByteBuffer(bytes: bytes)
    }

    private func append(named name: String, id: String?, to bytes: inout [UInt8], _ write: (inout JSONWriter) -> Void) {
        var json = JSONWriter()
        write(&json)
        switch self {
        case .lines:
            bytes += json.bytes
            bytes.append(UInt8(ascii: "\n"))
        case .events:
            if let id { bytes += Array("id: \(id)\n".utf8) }
            bytes += Array("event: \(name)\ndata: ".utf8)
            bytes += json.bytes
            bytes += Array("\n\n".utf8)
        }
    }
}
