import NIOCore
import NIOHTTP1

/// Ends an HTTP/1 connection after its last possible request, and rejects requests without a host: the rules of RFC
/// 9112 that need the version and the raw fields.
///
/// It follows the decoder. Later handlers see `Connection: close` in a last request, whatever it contained.
final class HTTP1Framing: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private var isLast = false
    private var isOver = false
    /// HTTP/1.0 has no chunks.
    private var isOld = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        switch unwrapInboundIn(data) {
        case .head(let head): take(head, data, context)
        case .body: context.fireChannelRead(data)
        case .end:
            isOver = isLast
            context.fireChannelRead(data)
        }
    }

    /// Input after the last request is not read. The decoder would collect it until the answer.
    func read(context: ChannelHandlerContext) {
        if !isOver { context.read() }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard isOld, case .head(var head) = unwrapOutboundIn(data), head.headers.first(name: "connection") == "close"
        else { return context.write(data, promise: promise) }
        head.version = .http1_0
        context.write(wrapOutboundOut(.head(head)), promise: promise)
    }

    /// Bytes after the last request need not be HTTP.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if !isOver || !(error is HTTPParserError) { context.fireErrorCaught(error) }
    }

    private func take(_ head: HTTPRequestHead, _ data: NIOAny, _ context: ChannelHandlerContext) {
        let fields = FramingFields(head.headers)
        if let fault = fields.fault(in: head.version) {
            isOver = true
            return context.fireErrorCaught(fault)
        }
        isOld = head.version.minor == 0
        // After a request for another protocol, or for a tunnel, NIO's decoder no longer parses HTTP.
        isLast = isOld || !head.isKeepAlive || head.method == .CONNECT || fields.asksForUpgrade
        guard isLast else { return context.fireChannelRead(data) }
        var head = head
        head.headers.replaceOrAdd(name: "connection", value: "close")
        // A client of HTTP/1.0 does not expect an interim response, and could not read one.
        if isOld { head.headers.remove(name: "expect") }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }
}

private struct FramingFields {
    private var hosts = 0
    private var isHostValid = true
    private(set) var asksForUpgrade = false

    init(_ headers: HTTPHeaders) {
        for (name, value) in headers {
            // Most names differ in length.
            switch name.utf8.count {
            case 4 where name.lowercased() == "host":
                hosts += 1
                isHostValid = HostField.isValid(value)
            case 7 where name.lowercased() == "upgrade": asksForUpgrade = true
            default: break
            }
        }
    }

    /// HTTP/1.0 did without a host; two are wrong in either version.
    func fault(in version: HTTPVersion) -> MalformedRequest? {
        if hosts == 0 { return version.minor == 0 ? nil : .noHost }
        return hosts == 1 && isHostValid ? nil : .badHost
    }
}
