import HTTPTypes
import NIOCore
import RegistryCore
import RegistryStore
import Synchronization

/// All followers of a scope share a batch and its encoded bytes.
final class ChangeBatch: Sendable {
    let changes: [Change]
    let position: ChangePosition

    private let encoded = Mutex<[ChangeFormat: ByteBuffer]>([:])
    private let aliasSets = Mutex<[[Alias]]?>(nil)

    init(_ changes: [Change], _ position: ChangePosition) { (self.changes, self.position) = (changes, position) }

    convenience init(_ page: ChangePage) { self.init(page.changes, page.position) }

    func changes(_ filter: ChangeFilter) -> [Change] {
        guard !filter.isEmpty else { return changes }
        let aliases = filter.alias == nil ? nil : parsedAliases()
        return changes.indices.compactMap { index in
            filter.passes(changes[index], aliases: aliases?[index]) ? changes[index] : nil
        }
    }

    func bytes(as format: ChangeFormat, _ filter: ChangeFilter) -> ByteBuffer {
        guard filter.isEmpty else { return format.encode(changes(filter), position) }
        return encoded.withLock { encoded in
            if let bytes = encoded[format] { return bytes }
            let bytes = format.encode(changes, position)
            encoded[format] = bytes
            return bytes
        }
    }

    private func parsedAliases() -> [[Alias]] {
        aliasSets.withLock { sets in
            let parsed = sets ?? changes.map { Alias.all(in: $0.aliases) }
            sets = parsed
            return parsed
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

    /// - Parameter aliases: The change's aliases. Evaluated only if needed.
    func passes(_ change: Change, aliases: [Alias]?) -> Bool {
        if let types, !types.contains(UTF8Text(change.type)) { return false }
        // It has no names, so it can concern every follower.
        if change.type == "erased" { return true }
        if let installation, change.installation != installation { return false }
        guard let alias else { return true }
        return aliases?.contains(alias) ?? false
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
