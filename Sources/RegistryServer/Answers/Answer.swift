import HTTPTypes
import Hummingbird
import NIOCore
import RegistryCore

/// The part of an answer before its body.
protocol AnswerHead: Sendable {
    var status: HTTPResponse.Status { get }
    var fields: HTTPFields { get set }
    /// A page's content security policy; nil for other answers.
    var contentPolicy: String? { get }
}

struct Answer: AnswerHead {
    enum Body: Sendable {
        case none
        case bytes([UInt8])
        /// Written while it is sent, at any size.
        case stream(any AnswerStream)
    }

    var status: HTTPResponse.Status = .ok
    var fields: HTTPFields = [:]
    var body: Body = .none
    var contentPolicy: String?
    /// The heavy call of this answer: it ends when the reader has taken all but the last piece, or the answer is
    /// dropped.
    var heavyCall: CountedCall?

    /// The bytes of a write, before the reader's progress is known.
    private static let pieceSize = 32 * 1024
    static let noContent = Answer(status: .noContent)

    static func json(_ status: HTTPResponse.Status = .ok, _ value: some JSONEncodable) -> Answer {
        Answer(WholeAnswer.json(status, value))
    }

    static func json(_ status: HTTPResponse.Status = .ok, _ members: (inout JSONWriter) -> Void) -> Answer {
        Answer(WholeAnswer.json(status, members))
    }

    static func stream(_ stream: some AnswerStream) -> Answer {
        Answer(fields: [.contentType: MediaType.lines], body: .stream(stream))
    }

    /// Not cacheable unless the answer's fields allow it.
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
                // A caller that has read everything may call again at once.
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
    func allFields(requestID: String) -> HTTPFields {
        var all = HTTPFields()
        forEachField(requestID: requestID) { all.append($0) }
        return all
    }

    /// Calls the closure with the fields of the answer and of every answer.
    func forEachField(requestID: String, _ tell: (HTTPField) -> Void) {
        for field in fields { tell(field) }
        tell(HTTPField(name: RequestID.field, value: requestID))
        if !fields.contains(.cacheControl) { tell(UsualFields.notCached) }
        for field in UsualFields.inABrowser { tell(field) }
        tell(contentPolicy.map { HTTPField(name: .contentSecurityPolicy, value: $0) } ?? UsualFields.nothingLoaded)
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
