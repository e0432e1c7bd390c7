import HTTPTypes
import NIOCore
import NIOHPACK
import NIOHTTP1

struct DirectAnswer: Sendable {
    private let answer: WholeAnswer
    private let requestID: String

    init(_ answer: WholeAnswer, requestID: String) {
        self.answer = answer
        self.requestID = requestID
    }

    /// The whole response of HTTP/1.1.
    ///
    /// No field can contain a line end: `HTTPField` rejects such values.
    var bytes: ByteBuffer {
        var buffer = ByteBuffer()
        buffer.reserveCapacity(512 + answer.body.count)
        let reason = HTTPResponseStatus(statusCode: answer.status.code).reasonPhrase
        buffer.writeString("HTTP/1.1 \(answer.status.code) \(reason)\r\n")
        forEachField { buffer.writeField($0.name, $0.value) }
        buffer.writeStaticString("\r\n")
        buffer.writeBytes(answer.body)
        return buffer
    }

    var headers: HPACKHeaders {
        var headers = HPACKHeaders()
        headers.reserveCapacity(16)
        headers.add(name: ":status", value: String(answer.status.code))
        // A stream is no connection.
        forEachField { field in
            guard field.name != .connection else { return }
            let changes = Self.changingFields.contains(field.name)
            headers.add(
                name: field.name.canonicalName,
                value: field.value,
                indexing: changes ? .nonIndexable : .indexable
            )
        }
        return headers
    }

    /// Fields that differ in nearly every answer: in HPACK's table they would evict the others.
    private static let changingFields: Set<HTTPField.Name> = [
        .contentLength, .date, RequestID.field, .rateLimit,
    ]

    var body: ByteBuffer { ByteBuffer(bytes: answer.body) }

    private func forEachField(_ tell: (HTTPField) -> Void) {
        answer.forEachField(requestID: requestID, tell)
        tell(HTTPField(name: .contentLength, value: String(answer.body.count)))
        tell(HTTPField(name: .date, value: HTTPDate.now))
    }
}

extension ByteBuffer {
    fileprivate mutating func writeField(_ name: HTTPField.Name, _ value: String) {
        writeString(name.rawName)
        writeStaticString(": ")
        writeString(value)
        writeStaticString("\r\n")
    }
}
