import HTTPTypes
import NIOCore
import RegistryCore

/// The response to a request.
struct Response: Sendable {
    enum Body: Sendable {
        case bytes([UInt8])
        /// Written while it is sent, at any size.
        case stream(any ResponseStream)
    }

    var status: HTTPResponse.Status = .ok
    /// Its own fields, beside those of every response.
    var fields: HTTPFields = [:]
    var body = Body.bytes([])
    /// A page's content security policy; nil for other responses.
    var contentPolicy: String?
    /// The heavy call of this response: it ends when the reader has taken all but the last piece, or the response is dropped.
    var heavyCall: CountedCall?
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

    /// The bytes of the body; none of a stream.
    var bytes: [UInt8] {
        guard case .bytes(let bytes) = body else { return [] }
        return bytes
    }

    /// Calls the closure with each field but those of the message's framing. Not cacheable unless its own fields allow it.
    func forEachField(_ body: (HTTPField) -> Void) {
        for field in fields where field.name != .connection { body(field) }
        body(HTTPField(name: RequestID.field, value: requestID))
        if !fields.contains(.cacheControl) { body(UsualFields.notCached) }
        for field in UsualFields.inABrowser { body(field) }
        body(contentPolicy.map { HTTPField(name: .contentSecurityPolicy, value: $0) } ?? UsualFields.nothingLoaded)
        body(HTTPField(name: .date, value: HTTPDate.now))
    }
}

/// The body of a response that is written while it is sent, at any size.
protocol ResponseStream: Sendable {
    /// - Throws: if it cannot be completed or the reader is gone; the connection then ends without the last chunk.
    func write(to writer: Exchange) async throws
}

extension JSONWriter {
    /// The last line of NDJSON, without which it is not complete.
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

    /// Against content sniffing, referrers and subresources in a browser.
    static let inABrowser = [
        HTTPField(name: .xContentTypeOptions, value: "nosniff"),
        HTTPField(name: .init("Referrer-Policy")!, value: "no-referrer"),
    ]
    static let nothingLoaded = HTTPField(
        name: .contentSecurityPolicy,
        value: "default-src 'none'; frame-ancestors 'none'"
    )
}

/// A part of a response on its way to the connection.
enum ResponsePart: Sendable {
    /// An interim response: the caller may send the body that it announced.
    case proceed
    case whole(ResponseHead, [UInt8])
    /// The bytes of the body and its end follow.
    case head(ResponseHead)
    case bytes(ByteBuffer)
    case end
}

struct ResponseHead: Sendable {
    let response: Response
    /// Nil if it is unknown before the end.
    let contentLength: Int?
    /// The connection ends after this response.
    let closes: Bool

    /// Calls the closure with each field but `Connection` and `Transfer-Encoding`.
    func forEachField(_ body: (HTTPField) -> Void) {
        response.forEachField(body)
        if let contentLength, response.status != .noContent {
            body(HTTPField(name: .contentLength, value: String(contentLength)))
        }
    }
}
