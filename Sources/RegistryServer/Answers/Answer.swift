import HTTPTypes
import Hummingbird
import NIOCore
import RegistryCore

/// The part of an answer before its body.
protocol AnswerHead: Sendable {
    var status: HTTPResponse.Status { get }
    var fields: HTTPFields { get set }
    /// The policy for a page: what a browser may load and do for it; nil for an answer that is no page.
    var contentPolicy: String? { get }
}

/// The answer of a call, before it becomes HTTP.
struct Answer: AnswerHead {
    enum Body: Sendable {
        case none
        case bytes([UInt8])
        /// Written while it is sent, so that its size is no matter.
        case stream(any AnswerStream)
    }

    var status: HTTPResponse.Status = .ok
    var fields: HTTPFields = [:]
    var body: Body = .none
    var contentPolicy: String?
    /// The heavy call that it answers, which is under way until all but the last piece was taken by the reader, or it is dropped.
    var heavyCall: CountedCall?

    /// How many bytes are sent at a time where nobody knows whether they are read.
    private static let pieceSize = 32 * 1024

    /// An answer without a body.
    static let noContent = Answer(status: .noContent)

    /// An answer of one JSON value.
    static func json(_ status: HTTPResponse.Status = .ok, _ value: some JSONEncodable) -> Answer {
        Answer(WholeAnswer.json(status, value))
    }

    /// An answer of one JSON object whose members the closure writes.
    static func json(_ status: HTTPResponse.Status = .ok, _ members: (inout JSONWriter) -> Void) -> Answer {
        Answer(WholeAnswer.json(status, members))
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

    private var responseBody: ResponseBody {
        switch body {
        case .none: ResponseBody()
        case .bytes(let bytes) where heavyCall == nil || bytes.count <= Self.pieceSize:
            ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        case .bytes(let bytes):
            ResponseBody(contentLength: bytes.count) { [heavyCall] writer in
                var rest = ByteBuffer(bytes: bytes)
                while rest.readableBytes > Self.pieceSize, let piece = rest.readSlice(length: Self.pieceSize) {
                    try await writer.write(piece)
                }
                // A caller who has read all of it may call again at once.
                heavyCall?.finish()
                try await writer.write(rest)
                try await writer.finish(nil)
            }
        case .stream(let stream):
            ResponseBody { [heavyCall] writer in
                defer { withExtendedLifetime(heavyCall) {} }
                try await stream.write(to: &writer)
            }
        }
    }
}

extension AnswerHead {
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
        if !fields.contains(.cacheControl) { tell(UsualFields.notCached) }
        for field in UsualFields.inABrowser { tell(field) }
        tell(contentPolicy.map { HTTPField(name: .contentSecurityPolicy, value: $0) } ?? UsualFields.nothingLoaded)
    }
}

/// Fields that most answers have.
private enum UsualFields {
    static let notCached = HTTPField(name: .cacheControl, value: "no-store")

    /// A browser that shows an answer must take it for nothing else, tell nobody of it, and load nothing for it.
    static let inABrowser = [
        HTTPField(name: .xContentTypeOptions, value: "nosniff"),
        HTTPField(name: .init("Referrer-Policy")!, value: "no-referrer"),
    ]
    static let nothingLoaded = HTTPField(
        name: .contentSecurityPolicy,
        value: "default-src 'none'; frame-ancestors 'none'"
    )
}
