import Foundation
import HTTPTypes
import NIOCore
import RegistryCore
import Synchronization

struct Response: Sendable {
    enum Body: Sendable {
        case bytes([UInt8])
        /// Written while it is sent, at any size.
        case stream(any ResponseStream)
    }

    var status: HTTPResponse.Status = .ok
    /// In addition to the fields of every response.
    var fields: HTTPFields = [:]
    var body = Body.bytes([])
    var contentPolicy: String?
    /// The heavy call of this response. It ends when only the last piece is unread, or the response is dropped.
    var heavyCall: Permit?
    var requestID = ""

    static let noContent = Response(status: .noContent)

    static func json(_ status: HTTPResponse.Status = .ok, _ value: some JSONEncodable) -> Response {
        Response(status: status, fields: [.contentType: MediaType.json], body: .bytes(value.jsonBytes))
    }

    static func json(
        _ status: HTTPResponse.Status = .ok,
        reservingCapacity capacity: Int = 1024,
        _ members: (inout JSONWriter) -> Void
    ) -> Response {
        var json = JSONWriter(reservingCapacity: capacity)
        json.object(members)
        return Response(status: status, fields: [.contentType: MediaType.json], body: .bytes(json.bytes))
    }

    static func stream(_ stream: some ResponseStream) -> Response {
        Response(fields: [.contentType: MediaType.lines], body: .stream(stream))
    }

    var bytes: [UInt8] {
        guard case .bytes(let bytes) = body else { return [] }
        return bytes
    }

    /// Calls `body` with each field except framing. Forbids caching unless the response's own fields allow it.
    func forEachField(_ body: (HTTPField) -> Void) {
        for field in fields where field.name != .connection { body(field) }
        body(HTTPField(name: RequestID.field, value: requestID))
        if !fields.contains(.cacheControl) { body(UsualFields.notCached) }
        for field in UsualFields.inABrowser { body(field) }
        body(contentPolicy.map { HTTPField(name: .contentSecurityPolicy, value: $0) } ?? UsualFields.nothingLoaded)
        body(HTTPField(name: .date, value: HTTPDate.now))
    }
}

protocol ResponseStream: Sendable {
    /// - Throws: An error if the body cannot be completed. The connection then closes without the last chunk.
    func write(to writer: Exchange) async throws
}

extension JSONWriter {
    mutating func writeEnd(count: Int) {
        object { json in
            json.member("end", true)
            json.member("count", count)
        }
        newline()
    }
}

private enum UsualFields {
    static let notCached = HTTPField(name: .cacheControl, value: "no-store")

    /// Against content sniffing, referrers and subresources.
    static let inABrowser = [
        HTTPField(name: .xContentTypeOptions, value: "nosniff"),
        HTTPField(name: .init("Referrer-Policy")!, value: "no-referrer"),
    ]
    static let nothingLoaded = HTTPField(
        name: .contentSecurityPolicy,
        value: "default-src 'none'; frame-ancestors 'none'"
    )
}

enum ResponsePart: Sendable {
    /// An interim response (`100 Continue`).
    case proceed
    case whole(ResponseHead, [UInt8])
    /// The parts of the body and `end` follow.
    case head(ResponseHead)
    case bytes(ByteBuffer)
    case end
}

struct ResponseHead: Sendable {
    let response: Response
    let contentLength: Int?
    let closes: Bool

    /// Calls `body` with each field except `Connection` and `Transfer-Encoding`.
    func forEachField(_ body: (HTTPField) -> Void) {
        response.forEachField(body)
        if let contentLength, response.status != .noContent {
            body(HTTPField(name: .contentLength, value: String(contentLength)))
        }
    }
}

/// The `Date` field (RFC 9110, 5.6.7), such as `Sun, 06 Nov 1994 08:49:37 GMT`, formatted once per second.
enum HTTPDate {
    private static let last = Mutex<(second: Int, text: String)>((0, ""))

    static var now: String {
        let second = Int(Date().timeIntervalSince1970)
        return last.withLock { last in
            if last.second != second { last = (second, format(second)) }
            return last.text
        }
    }

    /// - Parameter second: Since 1970.
    static func format(_ second: Int) -> String {
        var (time, parts, text) = (time_t(second), tm(), [CChar](repeating: 0, count: 32))
        gmtime_r(&time, &parts)
        // In English, because the process never sets a locale.
        let count = strftime(&text, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
        return String(decoding: text.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
