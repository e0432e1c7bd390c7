import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTPTypes
import RegistryCore

/// Reads the JSON of a request's body.
struct BodyReader: Sendable {
    let limits: ServerConfiguration.Limits

    /// Reads a body as a route wants it.
    ///
    /// - Throws: `body-too-large`, `unsupported-media-type`, `JSONSyntaxError`; `ConnectionLost` when it never came whole.
    func read(_ request: Request, as body: Route.Body, from channel: any Channel) async throws -> JSONValue {
        guard let limit = limit(of: body), !Self.isLines(request, body) else { return .null }
        return try Self.parse(try await collect(request, upTo: limit, from: channel), request.headers)
    }

    /// The JSON of a whole body.
    ///
    /// - Throws: `unsupported-media-type`, `JSONSyntaxError`.
    static func parse(_ bytes: ByteBuffer, _ fields: HTTPFields) throws -> JSONValue {
        if bytes.readableBytes > 0 { try checkMediaType(fields) }
        return try JSONParser.parse(bytes.readableBytesView)
    }

    /// The body as lines, for the call to read, where the route takes such and the request has it.
    ///
    /// - Throws: `unsupported-media-type`.
    func lines(of request: Request, as body: Route.Body, from channel: any Channel) throws(Problem) -> BodyLines? {
        guard Self.isLines(request, body) else { return nil }
        try Self.checkEncoding(request.headers)
        acceptExpected(request, channel)
        return BodyLines(request.body, from: channel, deadline: limits.requestDeadline)
    }

    private static func isLines(_ request: Request, _ body: Route.Body) -> Bool {
        body == .batchOrLines && request.headers[.contentType].map { MediaType($0).isLines } == true
    }

    private func limit(of body: Route.Body) -> Int? {
        switch body {
        case .none, .form: nil
        case .single: limits.singleBody
        case .batch, .batchOrLines: limits.batchBody
        }
    }

    func collect(_ request: Request, upTo limit: Int, from channel: any Channel) async throws -> ByteBuffer {
        if let length = request.headers[.contentLength].flatMap(Int.init), length > limit { throw Self.tooLarge(limit) }
        acceptExpected(request, channel)
        var bytes = ByteBuffer()
        var parts = request.body.makeAsyncIterator()
        while var part = try await Self.next(&parts) {
            guard bytes.readableBytes + part.readableBytes <= limit else { throw Self.tooLarge(limit) }
            bytes.writeBuffer(&part)
        }
        return bytes
    }

    private func acceptExpected(_ request: Request, _ channel: any Channel) {
        if request.headers[.expect]?.lowercased() == "100-continue" {
            channel.writeAndFlush(HTTPResponsePart.head(HTTPResponse(status: .continue)), promise: nil)
        }
    }

    private static func next(_ parts: inout RequestBody.AsyncIterator) async throws -> ByteBuffer? {
        do {
            return try await parts.next()
        } catch {
            throw ConnectionLost(cause: error)
        }
    }

    private static func tooLarge(_ limit: Int) -> Problem {
        Problem(.bodyTooLarge, "The body is larger than \(limit) bytes; send less, or fewer at a time.")
    }

    /// - Throws: `unsupported-media-type`.
    static func checkMediaType(_ fields: HTTPFields) throws(Problem) {
        guard let type = fields[.contentType], MediaType(type).isJSON else {
            throw Problem(.unsupportedMediaType, "Send JSON in UTF-8, and Content-Type: application/json.")
        }
        try checkEncoding(fields)
    }

    private static func checkEncoding(_ fields: HTTPFields) throws(Problem) {
        guard (fields[.contentEncoding] ?? "identity").lowercased() == "identity" else {
            throw Problem(.unsupportedMediaType, "The body must not be compressed.")
        }
    }
}

/// The connection broke, or sent what is no HTTP, before the request was whole: there is nobody to answer.
struct ConnectionLost: Error {
    let cause: any Error
}
