import HTTPTypes
import Hummingbird
import NIOCore
import RegistryCore

/// What a call answers, before it becomes HTTP.
struct Answer: Sendable {
    enum Body: Sendable {
        case none
        case bytes([UInt8])
        /// Written while it is sent, so that its size is no matter.
        case stream(any AnswerStream)
    }

    var status: HTTPResponse.Status = .ok
    var fields: HTTPFields = [:]
    var body: Body = .none
    /// What a browser may load and do for the page that the answer is; nil for what is no page.
    var contentPolicy: String?

    /// An answer without a body.
    static let noContent = Answer(status: .noContent)

    /// An answer of one JSON value.
    static func json(_ status: HTTPResponse.Status = .ok, _ value: some JSONEncodable) -> Answer {
        Answer(status: status, fields: [.contentType: MediaType.json], body: .bytes(value.jsonBytes))
    }

    /// An answer of one JSON object whose members the closure writes; large ones need not grow if they say how large.
    static func json(
        _ status: HTTPResponse.Status = .ok,
        reservingCapacity capacity: Int = 1024,
        _ members: (inout JSONWriter) -> Void
    ) -> Answer {
        var json = JSONWriter(reservingCapacity: capacity)
        json.object(members)
        return Answer(status: status, fields: [.contentType: MediaType.json], body: .bytes(json.bytes))
    }

    /// An answer of NDJSON.
    static func stream(_ stream: some AnswerStream) -> Answer {
        Answer(fields: [.contentType: MediaType.lines], body: .stream(stream))
    }

    /// The response, which nobody may cache unless the answer says otherwise.
    func response(requestID: String, isHead: Bool) -> Response {
        let response = Response(status: status, headers: allFields(requestID: requestID), body: responseBody)
        return isHead ? response.createHeadResponse() : response
    }

    /// The fields of the answer, with those that every answer has.
    func allFields(requestID: String) -> HTTPFields {
        var all = HTTPFields()
        forEachField(requestID: requestID) { all.append($0) }
        return all
    }

    /// Tells the fields of the answer, with those that every answer has, one by one.
    func forEachField(requestID: String, _ tell: (HTTPField) -> Void) {
        for field in fields { tell(field) }
        tell(HTTPField(name: RequestID.field, value: requestID))
        if fields[.cacheControl] == nil { tell(Self.notCached) }
        for field in Self.inABrowser { tell(field) }
        tell(contentPolicy.map { HTTPField(name: .contentSecurityPolicy, value: $0) } ?? Self.nothingLoaded)
    }

    private static let notCached = HTTPField(name: .cacheControl, value: "no-store")

    /// A browser that shows an answer must take it for nothing else, tell nobody of it, and load nothing for it.
    private static let inABrowser = [
        HTTPField(name: .xContentTypeOptions, value: "nosniff"),
        HTTPField(name: .init("Referrer-Policy")!, value: "no-referrer"),
    ]
    private static let nothingLoaded = HTTPField(
        name: .contentSecurityPolicy,
        value: "default-src 'none'; frame-ancestors 'none'"
    )

    private var responseBody: ResponseBody {
        switch body {
        case .none: ResponseBody()
        case .bytes(let bytes): ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        case .stream(let stream): ResponseBody { writer in try await stream.write(to: &writer) }
        }
    }
}
