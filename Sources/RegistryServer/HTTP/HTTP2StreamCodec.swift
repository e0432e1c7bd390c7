import HTTPTypes
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOHTTPTypes
import RegistryCore

/// One HTTP/2 stream between its frames and the ``RequestHandler``.
final class HTTP2StreamCodec: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = ResponsePart
    typealias OutboundOut = HTTP2Frame.FramePayload

    private let mostFields: Int
    private var hasHead = false

    init(_ limits: ServerConfiguration.Limits) { mostFields = limits.headerFields }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .headers(let frame):
            // Trailers end the body and are ignored.
            if !hasHead { receiveHead(frame.headers, context) }
            if frame.endStream { context.fireChannelRead(wrapInboundOut(.end(nil))) }
        case .data(let frame):
            if case .byteBuffer(let bytes) = frame.data, bytes.readableBytes > 0 {
                context.fireChannelRead(wrapInboundOut(.body(bytes)))
            }
            if frame.endStream { context.fireChannelRead(wrapInboundOut(.end(nil))) }
        default: break
        }
    }

    private func receiveHead(_ headers: HPACKHeaders, _ context: ChannelHandlerContext) {
        hasHead = true
        guard let head = HTTPRequest(headers) else { return context.fireErrorCaught(Problem.badField) }
        if let problem = head.streamFault(mostFields: mostFields) { return context.fireErrorCaught(problem) }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .proceed: write(HPACKHeaders([(":status", "100")]), endsStream: false, context)
        case .whole(let head, let body):
            write(head.hpackHeaders, endsStream: body.isEmpty, context)
            if !body.isEmpty { write(ByteBuffer(bytes: body), endsStream: true, context) }
        case .head(let head): write(head.hpackHeaders, endsStream: false, context)
        case .bytes(let bytes): write(bytes, endsStream: false, context)
        case .end: write(ByteBuffer(), endsStream: true, context)
        }
        promise?.succeed()
    }

    private func write(_ headers: HPACKHeaders, endsStream: Bool, _ context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(.headers(.init(headers: headers, endStream: endsStream))), promise: nil)
    }

    private func write(_ bytes: ByteBuffer, endsStream: Bool, _ context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(.data(.init(data: .byteBuffer(bytes), endStream: endsStream))), promise: nil)
    }
}

extension ResponseHead {
    fileprivate var hpackHeaders: HPACKHeaders {
        var headers = HPACKHeaders()
        headers.reserveCapacity(16)
        headers.add(name: ":status", value: String(response.status.code))
        forEachField { field in
            headers.add(
                name: field.name.canonicalName,
                value: field.value,
                indexing: Self.changingFields.contains(field.name) ? .nonIndexable : .indexable
            )
        }
        return headers
    }

    /// Fields with a new value in most responses. They would evict others from HPACK's table.
    private static let changingFields: Set<HTTPField.Name> = [.contentLength, .date, RequestID.field, .rateLimit]
}

extension HTTPRequest {
    fileprivate init?(_ headers: HPACKHeaders) {
        var (method, scheme, authority, path): (Method?, String?, String?, String?)
        var fields = HTTPFields()
        for (name, value, _) in headers {
            switch name {
            case ":method": method = Method(value)
            case ":scheme": scheme = value
            case ":authority": authority = value
            case ":path": path = value
            default:
                guard let name = HTTPField.Name(name), HTTPField.isValidValue(value) else { return nil }
                fields.append(HTTPField(name: name, value: value))
            }
        }
        guard let method, let path else { return nil }
        self.init(method: method, scheme: scheme, authority: authority, path: path, headerFields: fields)
    }
}
