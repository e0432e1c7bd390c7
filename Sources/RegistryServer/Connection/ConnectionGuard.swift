import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOHTTPTypesHTTP2
import RegistryCore

/// Closes connections that would stay open forever: with a body that trickles in or is not read, or a reader that has
/// stopped. It also reports the fault of input that is not HTTP.
///
/// With HTTP/2 there is one for each stream, whose writability follows the reader's flow control; it closes only the
/// stream. Hummingbird's own idle timer restarts with every part of a body, and pauses during a response.
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let requestDeadline: TimeAmount
    private let stalledReader: TimeAmount
    private let answerDeadline: TimeAmount
    private let unreadBody: Int
    private let headerFields: Int
    private let lastRequestDeadline: TimeAmount
    private var slot: ConnectionSlot?
    /// A request that the connection was told of is not answered yet.
    private var isBusy = false
    private var isReading = false
    /// The call itself limits the time of the body.
    private var isAnsweredWhileItComes = false
    private var requests = 0
    private var responses = 0
    /// A response's head was written, its end was not.
    private var isResponding = false
    private var isDraining = false
    private var closes = false
    private var isStream = false
    private var lastRequest: Int?
    /// The server stops, so the next answer is the connection's last.
    private var isStopping = false
    /// The request's head was not passed on, and neither is the rest.
    private var isRefused = false
    private var readTimer: Scheduled<Void>?
    private var writeTimer: Scheduled<Void>?
    private var answerTimer: Scheduled<Void>?
    private var stopTimer: Scheduled<Void>?
    /// The bytes of a body whose request was already answered.
    private var unread = 0
    /// The problem for a connection that does not speak HTTP.
    private var fault = Problem.malformedRequest

    init(_ limits: ServerConfiguration.Limits) {
        requestDeadline = TimeAmount(limits.requestDeadline)
        stalledReader = TimeAmount(limits.stalledReader)
        answerDeadline = TimeAmount(limits.answerDeadline)
        unreadBody = limits.unreadBody
        headerFields = limits.headerFields
        lastRequestDeadline = TimeAmount(limits.lastRequestDeadline)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let codec = HTTP2FramePayloadToHTTPServerCodec.self
        isStream = (try? context.pipeline.syncOperations.context(handlerType: codec)) != nil
        let connection = isStream ? context.channel.parent : context.channel
        slot = try? connection?.pipeline.syncOperations.handler(type: ConnectionSlot.self)
        guard !isStream, let codec = try? context.pipeline.syncOperations.handler(type: HTTP1ToHTTPServerCodec.self)
        else { return }
        // Without it a connection that the decoder has stopped reading would not end.
        do {
            try context.pipeline.syncOperations.addHandler(HTTP1Framing(), position: .before(codec))
        } catch {
            context.close(promise: nil)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            requests += 1
            isReading = true
            unread = 0
            noteOpen()
            if isStream, let problem = head.streamFault(mostFields: headerFields) { return refuse(problem, context) }
            if !isStream, head.headerFields[.connection] == "close" { lastRequest = requests }
        case .body(let part) where responses == requests && !isAnsweredWhileItComes:
            unread += part.readableBytes
            if unread > unreadBody { return context.close(promise: nil) }
        case .body: break
        case .end: endRequest(context)
        }
        if !isRefused { context.fireChannelRead(data) }
    }

    /// Most requests arrive in one read; only the others need a timer.
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
        if event is ChannelShouldQuiesceEvent, !isStream, !isStopping, lastRequestDeadline > .zero {
            // A request may be on its way. Later handlers would close the connection under it.
            isStopping = true
            stopTimer = schedule(lastRequestDeadline, context) { _ in
                context.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
            }
            return
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        writeTimer?.cancel()
        writeTimer = nil
        isDraining = !context.channel.isWritable
        noteOpen()
        if isDraining {
            writeTimer = schedule(stalledReader, context) { _ in context.close(promise: nil) }
            answerTimer = answerTimer ?? schedule(answerDeadline, context) { _ in context.close(promise: nil) }
        } else if !isResponding {
            endAnswerDeadline()
        }
        context.fireChannelWritabilityChanged()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head) where head.headerFields[RequestID.field] == nil && head.status == .badRequest:
            // Hummingbird's own answer to invalid HTTP has neither a request id nor a reason.
            responses += 1
            isResponding = true
            closes = true
            write(fault, context)
        case .head(var head) where head.status.kind != .informational:
            responses += 1
            isResponding = true
            if isStopping { head.headerFields[.connection] = "close" }
            closes = head.headerFields[.connection] == "close" && !isStream
            // HTTP/2 has no such field, and a stream is no connection.
            if isStream { head.headerFields[.connection] = nil }
            if responses == lastRequest { head.headerFields[.connection] = "close" }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .head, .body: context.write(data, promise: promise)
        case .end where !isResponding:
            // Written as bytes; only later handlers had to be told.
            responses += 1
            noteOpen()
            endAnswerDeadline()
            context.flush()
        case .end:
            isResponding = false
            noteOpen()
            endAnswerDeadline()
            context.writeAndFlush(data, promise: promise)
            if closes, !isReading { context.close(promise: nil) }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case HTTPParserError.headerOverflow: fault = .headersTooLarge
        case let error as MalformedRequest:
            fault = error.problem
            // The error that Hummingbird answers.
            return context.fireErrorCaught(HTTPParserError.unknown)
        default: break
        }
        context.fireErrorCaught(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        cancelTimers()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        cancelTimers()
        if isBusy { slot?.noteOpen(-1) }
        slot = nil
    }

    private func noteOpen() {
        let isBusy = isReading || isResponding || isDraining || responses < requests
        guard isBusy != self.isBusy else { return }
        self.isBusy = isBusy
        slot?.noteOpen(isBusy ? 1 : -1)
    }

    private func endRequest(_ context: ChannelHandlerContext) {
        isReading = false
        isAnsweredWhileItComes = false
        readTimer?.cancel()
        readTimer = nil
        if closes { context.close(promise: nil) }
        noteOpen()
    }

    /// Answers a stream's request; the rest of the request is not read.
    private func refuse(_ problem: Problem, _ context: ChannelHandlerContext) {
        isRefused = true
        responses += 1
        write(problem, context)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    /// Answers an unanswered request, and closes.
    private func giveUpReading(_ context: ChannelHandlerContext) {
        if responses < requests {
            write(.requestTimeout, context)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
        context.close(promise: nil)
    }

    /// Writes an answer without its end.
    private func write(_ problem: Problem, _ context: ChannelHandlerContext) {
        let id = RequestID.choose(nil)
        let answer = WholeAnswer(problem, requestID: id)
        var fields = answer.allFields(requestID: id)
        fields[.contentLength] = String(answer.body.count)
        if isStream { fields[.connection] = nil }
        context.write(wrapOutboundOut(.head(.init(status: answer.status, headerFields: fields))), promise: nil)
        context.write(wrapOutboundOut(.body(ByteBuffer(bytes: answer.body))), promise: nil)
    }

    private func schedule(
        _ time: TimeAmount,
        _ context: ChannelHandlerContext,
        _ action: @escaping (ConnectionGuard) -> Void
    ) -> Scheduled<Void> {
        context.eventLoop.assumeIsolated().scheduleTask(in: time) { action(self) }
    }

    private func endAnswerDeadline() {
        answerTimer?.cancel()
        answerTimer = nil
    }

    private func cancelTimers() {
        readTimer?.cancel()
        writeTimer?.cancel()
        answerTimer?.cancel()
        stopTimer?.cancel()
    }
}
