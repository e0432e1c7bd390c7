import HTTPTypes
import NIOCore
import NIOHTTPTypes
import NIOHTTPTypesHTTP2

/// Closes connections that would be held for ever by a body that trickles in or a reader that has stopped reading.
///
/// With HTTP/2 there is one for each stream, whose writability follows the reader's flow control; what it closes is the
/// stream alone. Hummingbird's own idle timer starts anew with every part of a body, and rests while a response is sent.
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let requestDeadline: TimeAmount
    private let stalledReader: TimeAmount
    private var isReading = false
    private var requests = 0
    private var responses = 0
    private var closes = false
    private var isStream = false
    private var readTimer: Scheduled<Void>?
    private var writeTimer: Scheduled<Void>?

    init(_ limits: ServerConfiguration.Limits) {
        requestDeadline = TimeAmount(limits.requestDeadline)
        stalledReader = TimeAmount(limits.stalledReader)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let codec = HTTP2FramePayloadToHTTPServerCodec.self
        isStream = (try? context.pipeline.syncOperations.context(handlerType: codec)) != nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head:
            requests += 1
            isReading = true
        case .body: break
        case .end: endRequest(context)
        }
        context.fireChannelRead(data)
    }

    /// Most requests come whole in one read; only for the others is a timer worth its while.
    func channelReadComplete(context: ChannelHandlerContext) {
        if isReading, readTimer == nil {
            readTimer = schedule(requestDeadline, context) { guarding in guarding.giveUpReading(context) }
        }
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        writeTimer?.cancel()
        writeTimer = nil
        if !context.channel.isWritable {
            writeTimer = schedule(stalledReader, context) { _ in context.close(promise: nil) }
        }
        context.fireChannelWritabilityChanged()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head) where head.status.kind != .informational:
            responses += 1
            closes = head.headerFields[.connection] == "close" && !isStream
            // HTTP/2 has no such field, and a stream is no connection.
            if isStream { head.headerFields[.connection] = nil }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .head, .body: context.write(data, promise: promise)
        case .end:
            context.writeAndFlush(data, promise: promise)
            if closes, !isReading { context.close(promise: nil) }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        cancelTimers()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { cancelTimers() }

    private func endRequest(_ context: ChannelHandlerContext) {
        isReading = false
        readTimer?.cancel()
        readTimer = nil
        if closes { context.close(promise: nil) }
    }

    /// Says why when the request was not answered yet, and closes.
    private func giveUpReading(_ context: ChannelHandlerContext) {
        if responses < requests {
            var fields: HTTPFields = isStream ? [.contentLength: "0"] : [.connection: "close", .contentLength: "0"]
            fields[RequestID.field] = RequestID.choose(nil)
            context.write(wrapOutboundOut(.head(.init(status: .requestTimeout, headerFields: fields))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
        context.close(promise: nil)
    }

    private func schedule(
        _ time: TimeAmount,
        _ context: ChannelHandlerContext,
        _ action: @escaping (ConnectionGuard) -> Void
    ) -> Scheduled<Void> {
        context.eventLoop.assumeIsolated().scheduleTask(in: time) { action(self) }
    }

    private func cancelTimers() {
        readTimer?.cancel()
        writeTimer?.cancel()
    }
}
