import Foundation
import HTTPTypes
import Logging
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
    /// The heavy call of this response. It ends when only the last piece is unread, or the response is dropped.
    var heavyCall: Permit?
    /// The memory of a large body, until the response is sent or dropped.
    var reservation: BodyReservation?
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

    /// Calls `body` with each field except framing.
    func forEachField(_ body: (HTTPField) -> Void) {
        for field in fields where field.name != .connection { body(field) }
        body(HTTPField(name: RequestID.field, value: requestID))
        for field in Self.defaults where !fields.contains(field.name) { body(field) }
        body(HTTPField(name: .date, value: HTTPDate.now))
    }

    /// Against caching, content sniffing, referrers and subresources, unless the response's own fields allow them.
    private static let defaults: HTTPFields = [
        .cacheControl: "no-store", .xContentTypeOptions: "nosniff", HTTPField.Name("Referrer-Policy")!: "no-referrer",
        .contentSecurityPolicy: "default-src 'none'; frame-ancestors 'none'",
    ]
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

    static func format(_ second: Int) -> String {
        var (time, parts, text) = (time_t(second), tm(), [CChar](repeating: 0, count: 32))
        gmtime_r(&time, &parts)
        // In English, because the process never sets a locale.
        let count = strftime(&text, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
        return String(decoding: text.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// A problem whose response has additional fields, or that a metric counts.
struct Refusal: Error {
    let problem: Problem
    var fields: HTTPFields = [:]
    var metric: Metric?
}

// The only conversion of errors to responses.

extension Response {
    /// An RFC 9457 response.
    init(_ problem: Problem, requestID: String) {
        var json = JSONWriter(reservingCapacity: 512)
        problem.encode(to: &json, requestID: requestID)
        self.init(
            status: HTTPResponse.Status(code: problem.code.status),
            fields: problem.fields,
            body: .bytes(json.bytes),
            requestID: requestID
        )
    }
}

extension Problem {
    /// Logs unexpected errors and converts them to `internal-error`, without internal details.
    init(_ error: any Error, logger: @autoclosure () -> Logger) {
        switch error {
        case let problem as Problem: self = problem
        case let error as JSONSyntaxError: self.init(.malformedJSON, "The body is not JSON. \(error)")
        case let refusal as Refusal: self = refusal.problem
        case is CancellationError:
            self.init(.unavailable, "The service is stopping. Send the same request again.")
        default:
            logger().error("A request failed: \(error)")
            self.init(.internalError, "The service failed. Its log has the cause under this requestId.")
        }
    }

    var fields: HTTPFields {
        var fields: HTTPFields = [.contentType: MediaType.problem]
        switch code {
        case .unauthenticated: fields[.wwwAuthenticate] = "Bearer"
        case .unavailable, .tooManyRequests: fields[.retryAfter] = String(retryAfterSeconds)
        // The rest of the body still arrives, so the caller must not reuse the connection.
        case .bodyTooLarge, .malformedRequest, .headersTooLarge, .requestTimeout: fields[.connection] = "close"
        default: break
        }
        return fields
    }

    private var retryAfterSeconds: Int { max(1, Int(((retryAfter ?? .seconds(1)) / .seconds(1)).rounded(.up))) }
}

extension HTTPFields {
    mutating func add(_ quota: RateLimiter.QuotaState) {
        self[.rateLimitPolicy] = quota.rule.field
        self[.rateLimit] = quota.field
    }
}

extension HTTPField.Name {
    static let rateLimitPolicy = HTTPField.Name("RateLimit-Policy")!
    static let rateLimit = HTTPField.Name("RateLimit")!
    /// Replaced by `:authority` and `HTTPRequest.authority`.
    fileprivate static let hostField = HTTPField.Name("host")!
}

/// Faults of framing. They are found before all others.
extension Problem {
    private static func malformed(_ detail: String) -> Problem { Problem(.malformedRequest, detail) }

    static let noHost = malformed("The request has no Host field. Send the name of the service.")
    static let badHost = malformed(
        "The request's Host must be one field with a name or an address, and optionally a port."
    )
    static let badField = malformed("The request has a field, a method or a path that HTTP does not allow.")
    static let malformedRequest = malformed("The request is not valid HTTP/1.1.")
    static let headersTooLarge = Problem(
        .headersTooLarge,
        "The request has too many header fields, or a header field or its path is too long."
    )
    static let requestTimeout = Problem(
        .requestTimeout,
        "The request was not complete in time. Send the same request again."
    )
}

extension HTTPRequest {
    /// Faults of HTTP/2 requests that NIO accepts.
    func streamFault(mostFields: Int) -> Problem? {
        if headerFields.count > mostFields { return .headersTooLarge }
        let hosts = headerFields[values: .hostField]
        guard let host = authority ?? hosts.first else { return .noHost }
        let isOne = hosts.count <= 1 && (hosts.isEmpty || hosts[0] == host)
        return isOne && HostField.isValid(host) ? nil : .badHost
    }
}
