import NIOCore
import NIOHTTP1

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
