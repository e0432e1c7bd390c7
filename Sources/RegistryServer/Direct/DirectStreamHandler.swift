import HTTPTypes
import Logging
import NIOCore
import NIOHTTP2
import RegistryCore

/// Answers hot calls on an HTTP/2 connection itself, without a channel for each stream; the frames of all other streams
/// pass.
///
/// It is between the frame codec and the multiplexer; its state decides each step.
final class DirectStreamHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias InboundOut = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private let responder: RegistryResponder
    private let limits: ServerConfiguration.Limits
    private let logger: Logger
    private var executor: (any TaskExecutor)?
    private var slot: ConnectionSlot?
    private var streams = DirectStreams<DirectCall>()
    private var lastKey: RememberedKey?
    private var peer: IPAddress?
    private var isFlushing = false

    init(_ responder: RegistryResponder, _ limits: ServerConfiguration.Limits, logger: Logger) {
        self.responder = responder
        self.limits = limits
        self.logger = logger
    }

    func handlerAdded(context: ChannelHandlerContext) {
        executor = EventLoopExecutor(context.eventLoop)
        slot = try? context.pipeline.syncOperations.handler(type: ConnectionSlot.self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        slot?.noteOpen(-streams.removeAll())
        slot = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        let id = frame.streamID
        switch frame.payload {
        case .headers(let headers) where streams.isOpen(id):
            // Trailers.
            take(streams.receive(id, nil, isLast: headers.endStream), of: id, context)
        case .headers(let headers):
            if !begin(id, headers, context) { context.fireChannelRead(data) }
        case .data(let part) where streams.isOpen(id):
            guard case .byteBuffer(let bytes) = part.data else { return }
            let receipt = streams.receive(id, bytes, isLast: part.endStream)
            if case .incomplete = receipt { widen(id, by: bytes.readableBytes, context) }
            take(receipt, of: id, context)
        case .priority, .rstStream, .windowUpdate:
            if !streams.isOpen(id) { context.fireChannelRead(data) }
        default: context.fireChannelRead(data)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        for id in streams.readCompleted() {
            schedule(limits.requestDeadline, context) { handler in handler.giveUpReading(id, context) }
        }
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? StreamClosedEvent, streams.closed(event.streamID) { slot?.noteOpen(-1) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Such as a body that differs from its announced length.
        if let error = error as? NIOHTTP2Errors.StreamError, streams.isOpen(error.streamID) {
            return reset(error.streamID, .protocolError, context)
        }
        context.fireErrorCaught(error)
    }

    private func begin(
        _ id: HTTP2StreamID,
        _ headers: HTTP2Frame.FramePayload.Headers,
        _ context: ChannelHandlerContext
    ) -> Bool {
        // If answers pile up, no more calls are answered here: a stream with its own channel detects slow readers.
        guard context.channel.isWritable, let head = HTTPRequest(ordinary: headers.headers),
            head.streamFault(mostFields: limits.headerFields) == nil
        else { return false }
        if peer == nil { peer = IPAddress(context.channel.remoteAddress) }
        guard let call = responder.directCall(head, from: peer, after: &lastKey) else { return false }
        var room: BodyReservation?
        if !headers.endStream {
            guard let length = head.headerFields[.contentLength].flatMap(Int.init), length >= 0,
                let reserved = try? responder.bodies.budget.reserve(length, for: call.network)
            else { return false }
            room = reserved
        }
        slot?.noteOpen(1)
        if let request = streams.begin(id, call, room: room, isWhole: headers.endStream) {
            start(request, id, context)
        }
        return true
    }

    private func take(
        _ receipt: DirectStreams<DirectCall>.Receipt,
        of id: HTTP2StreamID,
        _ context: ChannelHandlerContext
    ) {
        if case .whole(let request) = receipt { start(request, id, context) }
    }

    /// Restores the caller's window after received bytes.
    private func widen(_ id: HTTP2StreamID, by bytes: Int, _ context: ChannelHandlerContext) {
        guard bytes > 0 else { return }
        write(id, .windowUpdate(windowSizeIncrement: bytes), context)
        flush(context)
    }

    private func giveUpReading(_ id: HTTP2StreamID, _ context: ChannelHandlerContext) {
        guard streams.isReading(id), streams.answered(id) else { return }
        let requestID = RequestID.choose(nil)
        send(DirectAnswer(WholeAnswer(.requestTimeout, requestID: requestID), requestID: requestID), to: id, context)
    }

    private func start(
        _ request: DirectStreams<DirectCall>.Request,
        _ id: HTTP2StreamID,
        _ context: ChannelHandlerContext
    ) {
        // Until the body is decoded.
        defer { withExtendedLifetime(request.room) {} }
        let eventLoop = context.eventLoop
        let connection = NIOLoopBound((handler: self, context: context), eventLoop: eventLoop)
        responder.start(request.call, body: request.body, on: executor, logger: logger) { make in
            let finish: @Sendable () -> Void = { connection.value.handler.finish(id, make, connection.value.context) }
            if eventLoop.inEventLoop { finish() } else { eventLoop.execute(finish) }
        }
    }

    private func finish(_ id: HTTP2StreamID, _ make: () -> DirectAnswer, _ context: ChannelHandlerContext) {
        // Also for a caller who has left: the call is counted and logged with its answer.
        let answer = make()
        if streams.answered(id) { send(answer, to: id, context) }
    }

    private func send(_ answer: DirectAnswer, to id: HTTP2StreamID, _ context: ChannelHandlerContext) {
        write(answer, to: id, context)
        flush(context)
    }

    private func write(_ answer: DirectAnswer, to id: HTTP2StreamID, _ context: ChannelHandlerContext) {
        write(id, .headers(.init(headers: answer.headers)), context)
        write(id, .data(.init(data: .byteBuffer(answer.body), endStream: true)), context)
    }

    private func reset(_ id: HTTP2StreamID, _ code: NIOHTTP2.HTTP2ErrorCode, _ context: ChannelHandlerContext) {
        write(id, .rstStream(code), context)
        flush(context)
    }

    private func write(_ id: HTTP2StreamID, _ payload: HTTP2Frame.FramePayload, _ context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(HTTP2Frame(streamID: id, payload: payload)), promise: nil)
    }

    /// Flushes after the thread's pending work: answers of one batch are sent together.
    private func flush(_ context: ChannelHandlerContext) {
        guard !isFlushing else { return }
        isFlushing = true
        context.eventLoop.assumeIsolated().execute { [self] in
            isFlushing = false
            context.flush()
            // Only now are slow readers known: a timer for each answer would cost more than the answer.
            for id in streams.flushed() {
                schedule(limits.stalledReader, context) { handler in
                    if handler.streams.isOpen(id) { handler.reset(id, .cancel, context) }
                }
            }
        }
    }

    private func schedule(
        _ time: Duration,
        _ context: ChannelHandlerContext,
        _ action: @escaping (DirectStreamHandler) -> Void
    ) {
        context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(time)) { action(self) }
    }
}
