import HTTPTypes
import NIOCore
import NIOHTTP1

/// The answer to a hot call, in the two forms in which it goes out.
struct DirectAnswer: Sendable {
    private let answer: WholeAnswer
    private let requestID: String

    init(_ answer: WholeAnswer, requestID: String) {
        self.answer = answer
        self.requestID = requestID
    }

    /// The whole response as HTTP/1.1 writes it.
    ///
    /// No field can hold what ends a line: `HTTPField` takes no such value.
    var bytes: ByteBuffer {
        var buffer = ByteBuffer()
        buffer.reserveCapacity(512 + answer.body.count)
        let reason = HTTPResponseStatus(statusCode: answer.status.code).reasonPhrase
        buffer.writeString("HTTP/1.1 \(answer.status.code) \(reason)\r\n")
        answer.forEachField(requestID: requestID) { buffer.writeField($0.name, $0.value) }
        buffer.writeField(.contentLength, String(answer.body.count))
        buffer.writeField(.date, HTTPDate.now)
        buffer.writeStaticString("\r\n")
        buffer.writeBytes(answer.body)
        return buffer
    }

    /// The response before its body.
    var head: HTTPResponse {
        var fields = answer.allFields(requestID: requestID)
        fields[.contentLength] = String(answer.body.count)
        fields[.date] = HTTPDate.now
        return HTTPResponse(status: answer.status, headerFields: fields)
    }

    var body: ByteBuffer { ByteBuffer(bytes: answer.body) }
}

extension ByteBuffer {
    fileprivate mutating func writeField(_ name: HTTPField.Name, _ value: String) {
        writeString(name.rawName)
        writeStaticString(": ")
        writeString(value)
        writeStaticString("\r\n")
    }
}
