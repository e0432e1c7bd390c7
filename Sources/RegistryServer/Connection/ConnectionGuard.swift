import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP2
import RegistryCore

/// Closes connections that would be held for ever by a body that trickles in, or that nobody will read, or by a reader that
/// has stopped reading; and says what was wrong with what is no HTTP.
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
    private let answerDeadline: TimeAmount
    private let unreadBody: Int
    private var isReading = false
    /// The call itself sees to it that the body goes on coming.
    private var isAnsweredWhileItComes = false
    private var requests = 0
    private var responses = 0
    /// A response's head was written and its end was not.
    private var isResponding = false
    private var closes = false
    private var isStream = false
    private var readTimer: Scheduled<Void>?
    private var writeTimer: Scheduled<Void>?
    private var answerTimer: Scheduled<Void>?
    /// How much came of a body whose request was answered already.
    private var unread = 0
    private var hasTooLargeHeader = false

    init(_ limits: ServerConfiguration.Limits) {
        requestDeadline = TimeAmount(limits.requestDeadline)
        stalledReader = TimeAmount(limits.stalledReader)
        answerDeadline = TimeAmount(limits.answerDeadline)
        unreadBody = limits.unreadBody
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
            unread = 0
        case .body(let part) where responses == requests && !isAnsweredWhileItComes:
            unread += part.readableBytes
            if unread > unreadBody { return context.close(promise: nil) }
        case .body: break
        case .end: endRequest(context)
        }
        context.fireChannelRead(data)
    }

    /// Most requests come whole in one read; only for the others is a timer worth its while.
    func channelReadComplete(context: ChannelHandlerContext) {
        if isReading, !isAnsweredWhileItComes, readTimer == nil {
            readTimer = schedule(requestDeadline, context) { guarding in guarding.giveUpReading(context) }
        }
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is BodyIsAnsweredWhileItComes, isReading {
            isAnsweredWhileItComes = true
            readTimer?.cancel()
            readTimer = nil
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        writeTimer?.cancel()
        writeTimer = nil
        if !context.channel.isWritable {
            writeTimer = schedule(stalledReader, context) { _ in context.close(promise: nil) }
            answerTimer = answerTimer ?? schedule(answerDeadline, context) { _ in context.close(promise: nil) }
        }
        context.fireChannelWritabilityChanged()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head) where head.headerFields[RequestID.field] == nil && head.status == .badRequest:
            // What Hummingbird answers by itself to what is no HTTP has neither a name nor a reason.
            responses += 1
            isResponding = true
            closes = true
            write(hasTooLargeHeader ? .headersTooLarge : .malformedRequest, context)
        case .head(var head) where head.status.kind != .informational:
            responses += 1
            isResponding = true
            closes = head.headerFields[.connection] == "close" && !isStream
            // HTTP/2 has no such field, and a stream is no connection.
            if isStream { head.headerFields[.connection] = nil }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .head, .body: context.write(data, promise: promise)
        case .end where !isResponding:
            // All of it was written as bytes; only those behind this handler had to be told.
            responses += 1
            context.flush()
        case .end:
            isResponding = false
            answerTimer?.cancel()
            answerTimer = nil
            context.writeAndFlush(data, promise: promise)
            if closes, !isReading { context.close(promise: nil) }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if case HTTPParserError.headerOverflow = error { hasTooLargeHeader = true }
        context.fireErrorCaught(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        cancelTimers()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { cancelTimers() }

    private func endRequest(_ context: ChannelHandlerContext) {
        isReading = false
        isAnsweredWhileItComes = false
        readTimer?.cancel()
        readTimer = nil
        if closes { context.close(promise: nil) }
    }

    /// Says why when the request was not answered yet, and closes.
    private func giveUpReading(_ context: ChannelHandlerContext) {
        if responses < requests {
            write(.requestTimeout, context)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
        context.close(promise: nil)
    }

    /// Writes an answer but for its end.
    private func write(_ problem: Problem, _ context: ChannelHandlerContext) {
        let id = RequestID.choose(nil)
        let answer = Answer(problem, requestID: id)
        guard case .bytes(let bytes) = answer.body else { return }
        var fields = answer.allFields(requestID: id)
        fields[.contentLength] = String(bytes.count)
        if isStream { fields[.connection] = nil }
        context.write(wrapOutboundOut(.head(.init(status: answer.status, headerFields: fields))), promise: nil)
        context.write(wrapOutboundOut(.body(ByteBuffer(bytes: bytes))), promise: nil)
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
        answerTimer?.cancel()
    }
}

extension Problem {
    fileprivate static let malformedRequest = Problem(.malformedRequest, "What came is not HTTP/1.1.")
    fileprivate static let headersTooLarge = Problem(
        .headersTooLarge,
        "The request's header has too many fields, or one that is too long, or its path is."
    )
    fileprivate static let requestTimeout = Problem(
        .requestTimeout,
        "The request did not come whole in time. Send the same request again."
    )
}
