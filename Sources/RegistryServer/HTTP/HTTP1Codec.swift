import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import RegistryCore

/// HTTP/1 between NIO's decoder and the ``RequestHandler``: the rules of RFC 9112 that need the version and the raw
/// fields, and the bytes of responses.
///
/// Adds `Connection: close` to the last request of a connection, whatever the request contained.
final class HTTP1Codec: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = ResponsePart
    typealias OutboundOut = ByteBuffer

    private let decoder: HTTP1Decoder
    private var isLast = false
    /// Input is no longer passed on.
    private var isOver = false
    private var isFaulty = false
    /// HTTP/1.0, which has no chunks.
    private var isOld = false
    private var asksForUpgrade = false
    private var isChunked = false

    private init(_ decoder: HTTP1Decoder) { self.decoder = decoder }

    static func add(to channel: any Channel, _ limits: ServerConfiguration.Limits) throws {
        let decoder = HTTP1Decoder(limits)
        try channel.pipeline.syncOperations.addHandlers([ByteToMessageHandler(decoder), HTTP1Codec(decoder)])
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        decoder.isToRestart = false
        switch unwrapInboundIn(data) {
        case .head(let head): receiveHead(head, context)
        case .body(let bytes): context.fireChannelRead(wrapInboundOut(.body(bytes)))
        case .end:
            isOver = isLast
            // The upgrade is ignored, so the next request is HTTP again.
            decoder.isToRestart = asksForUpgrade && !isLast
            context.fireChannelRead(wrapInboundOut(.end(nil)))
        }
    }

    /// Stops reading after the last request, because the decoder would buffer further input until the response.
    func read(context: ChannelHandlerContext) { if !isOver || isFaulty { context.read() } }

    /// Ignores parser errors after the last request, because later bytes may not be HTTP. After a fault, NIO's handler
    /// reports an error for each read.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is ByteToMessageDecoderError || isOver && error is HTTPParserError { return }
        context.fireErrorCaught(error)
    }

    private func receiveHead(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        if let fault = Self.hostFault(in: head) { return refuse(fault, context) }
        isOld = head.version.minor == 0
        // NIO's parser stops parsing HTTP after a request with both fields.
        asksForUpgrade =
            head.headers.contains(name: "upgrade")
            && head.headers[canonicalForm: "connection"].contains { $0.lowercased() == "upgrade" }
        isLast = isOld || !head.isKeepAlive || head.method == .CONNECT
        guard var request = HTTPRequest(head) else { return refuse(HTTPParserError.invalidMethod, context) }
        if isLast { request.headerFields[.connection] = "close" }
        // HTTP/1.0 clients do not expect interim responses and cannot read them.
        if isOld { request.headerFields[.expect] = nil }
        context.fireChannelRead(wrapInboundOut(.head(request)))
    }

    /// HTTP/1.0 needs no host. Two hosts are wrong in both versions.
    private static func hostFault(in head: HTTPRequestHead) -> Problem? {
        // Compares the length first, because most names differ in length.
        let hosts = head.headers.lazy.filter { $0.name.utf8.count == 4 && $0.name.lowercased() == "host" }
        guard let host = hosts.first?.value else { return head.version.minor == 0 ? nil : .noHost }
        return hosts.dropFirst().isEmpty && HostField.isValid(host) ? nil : .badHost
    }

    private func refuse(_ fault: any Error, _ context: ChannelHandlerContext) {
        (isOver, isFaulty) = (true, true)
        context.fireErrorCaught(fault)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var bytes: ByteBuffer
        switch unwrapOutboundIn(data) {
        case .proceed: bytes = ByteBuffer(staticString: "HTTP/1.1 100 Continue\r\n\r\n")
        case .whole(let head, let body):
            isChunked = false
            bytes = self.bytes(of: head, reserving: body.count)
            bytes.writeBytes(body)
        case .head(let head):
            isChunked = head.contentLength == nil && !isOld
            bytes = self.bytes(of: head, reserving: 0)
        case .bytes(let part): bytes = isChunked ? Self.chunk(part) : part
        case .end:
            bytes = isChunked ? ByteBuffer(staticString: "0\r\n\r\n") : ByteBuffer()
            isChunked = false
        }
        context.write(wrapOutboundOut(bytes), promise: promise)
    }

    /// Fields cannot contain line ends, because `HTTPField` rejects such values.
    private func bytes(of head: ResponseHead, reserving body: Int) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.reserveCapacity(640 + body)
        let status = head.response.status
        buffer.writeStaticString(isOld ? "HTTP/1.0 " : "HTTP/1.1 ")
        // A status made from a code has no phrase, and Chromium shows it to the user.
        let phrase = HTTPResponseStatus(statusCode: status.code).reasonPhrase
        buffer.writeString("\(status.code) \(phrase)\r\n")
        head.forEachField { field in
            buffer.writeString(field.name.rawName)
            buffer.writeStaticString(": ")
            buffer.writeString(field.value)
            buffer.writeStaticString("\r\n")
        }
        if head.closes { buffer.writeStaticString("Connection: close\r\n") }
        if isChunked { buffer.writeStaticString("Transfer-Encoding: chunked\r\n") }
        buffer.writeStaticString("\r\n")
        return buffer
    }

    private static func chunk(_ part: ByteBuffer) -> ByteBuffer {
        var (part, chunk) = (part, ByteBuffer())
        chunk.reserveCapacity(part.readableBytes + 16)
        chunk.writeString("\(String(part.readableBytes, radix: 16))\r\n")
        chunk.writeBuffer(&part)
        chunk.writeStaticString("\r\n")
        return chunk
    }
}

extension HTTPRequest {
    fileprivate init?(_ head: HTTPRequestHead) {
        // NIO's conversion parses each path as a URL, which is slower than everything else here.
        guard head.uri.utf8.first == UInt8(ascii: "/") else {
            guard let request = try? HTTPRequest(head, secure: false, splitCookie: false) else { return nil }
            self = request
            return
        }
        guard let method = Method(head.method.rawValue) else { return nil }
        self.init(
            method: method,
            scheme: "http",
            authority: head.headers.first(name: "host"),
            path: head.uri,
            headerFields: HTTPFields(head.headers, splitCookie: false)
        )
    }
}

/// NIO's decoder of requests, with a restart.
///
/// After a request for an upgrade, NIO's decoder no longer parses HTTP. A new decoder then reads the remaining input.
final class HTTP1Decoder: ByteToMessageDecoder {
    typealias InboundOut = HTTPServerRequestPart

    private let limits: NIOHTTPDecoderLimitConfiguration
    private var decoder: HTTPRequestDecoder

    var isToRestart = false

    init(_ limits: ServerConfiguration.Limits) {
        var sizes = NIOHTTPDecoderLimitConfiguration()
        sizes.maxHeaderFieldSize = limits.headerField
        sizes.maxHeaderListSize = limits.header
        sizes.maxHeaderFieldCount = limits.headerFields
        self.limits = sizes
        decoder = HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: sizes)
    }

    func decoderAdded(context: ChannelHandlerContext) { decoder.decoderAdded(context: context) }
    func decoderRemoved(context: ChannelHandlerContext) { decoder.decoderRemoved(context: context) }

    func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
        let state = try decoder.decode(context: context, buffer: &buffer)
        return restart(context) && buffer.readableBytes > 0 ? .continue : state
    }

    func decodeLast(context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool) throws -> DecodingState {
        while buffer.readableBytes > 0, case .continue = try decode(context: context, buffer: &buffer) {}
        return try decoder.decodeLast(context: context, buffer: &buffer, seenEOF: seenEOF)
    }

    private func restart(_ context: ChannelHandlerContext) -> Bool {
        guard isToRestart else { return false }
        isToRestart = false
        decoder.decoderRemoved(context: context)
        decoder = HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: limits)
        decoder.decoderAdded(context: context)
        return true
    }
}
