import HTTPTypes
import NIOCore
import RegistryCore
import RegistryStore

enum ChangeFormat: Sendable, Hashable {
    /// NDJSON of changes and bookmarks.
    case lines
    /// Server-sent events (HTML standard, section 9.2).
    case events

    static let eventStream = "text/event-stream"

    /// Nil for a page.
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
