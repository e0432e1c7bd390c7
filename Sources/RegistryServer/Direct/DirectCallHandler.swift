import HTTPTypes
import Logging
import NIOCore
import NIOHTTPTypes
import RegistryCore
import RegistryStore

/// Answers hot calls right in the connection's pipeline, without a task and without Hummingbird; all other requests pass.
///
/// A connection's answers go out in the order of its requests: a call is taken only while no request before it is open
/// behind this handler, and while one is being answered here, whatever comes after it is held, further reads included.
///
/// Answers are written as bytes, past all that would make them of parts; the other handlers are told of their ends.
final class DirectCallHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private enum State {
        case idle
        case reading(DirectCall, ByteBuffer)
        /// Until the answer is known, and the connection takes more.
        case answering
    }

    private enum PendingEvent {
        case part(NIOAny)
        case event(Any)
        case error(any Error)
    }

    private let responder: RegistryResponder
    private let executor: any TaskExecutor
    private let logger: Logger
    /// The place in the pipeline from which bytes are written.
    private var encoder: ChannelHandlerContext?
    private var state = State.idle
    private var lastKey: RememberedKey?
    /// The address at the other end, once it was asked for.
    private var peer: IPAddress?
    /// The room for a body that did not come whole at once.
    private var reservation: BodyReservation?
    /// Requests behind this handler that are not answered.
    private var downstreamRequests = 0
    private var pendingEvents: [PendingEvent] = []
    private var holdsRead = false
    private var isReleasing = false
    /// The answer was written, and does not fit the socket's buffers.
    private var isDraining = false
    private var isRemoved = false

    /// - Parameter encoder: of the encoder of responses, which bytes go past.
    init(
        _ responder: RegistryResponder,
        executor: any TaskExecutor,
        logger: Logger,
        past encoder: ChannelHandlerContext
    ) {
        self.responder = responder
        self.executor = executor
        self.logger = logger
        self.encoder = encoder
    }

    // MARK: What comes

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch (state, unwrapInboundIn(data)) {
        case (.answering, _): pendingEvents.append(.part(data))
        case (.idle, .head(let head)): take(head, data, context)
        case (.reading(let call, var body), .body(var part)):
            state = .idle
            body.writeBuffer(&part)
            state = .reading(call, body)
        case (.reading(let call, let body), .end): start(call, body, context)
        case (.idle, _), (.reading, .head): context.fireChannelRead(data)
        }
    }

    /// Most bodies come whole in one read. Others may take their time, and as much room as they announce; where there is none
    /// the usual way says so.
    func channelReadComplete(context: ChannelHandlerContext) {
        if case .reading(let call, let body) = state, reservation == nil { keepRoom(for: call, body, context) }
        context.fireChannelReadComplete()
    }

    private func keepRoom(for call: DirectCall, _ body: ByteBuffer, _ context: ChannelHandlerContext) {
        let announced = call.head.headerFields[.contentLength].flatMap(Int.init) ?? 0
        reservation = try? responder.bodies.budget.reserve(announced, for: call.network)
        guard reservation == nil else { return }
        state = .idle
        downstreamRequests += 1
        context.fireChannelRead(wrapInboundOut(.head(call.head)))
        if body.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(.body(body))) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .answering = state else { return context.fireUserInboundEventTriggered(event) }
        pendingEvents.append(.event(event))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard case .answering = state else { return context.fireErrorCaught(error) }
        pendingEvents.append(.error(error))
    }

    func read(context: ChannelHandlerContext) {
        // A client that waits for its answer sends nothing meanwhile, and telling the kernel to look away and back
        // again is expensive.
        guard case .answering = state, !pendingEvents.isEmpty || isDraining else { return context.read() }
        holdsRead = true
    }

    /// A reader who stops gets no further answers, so that they do not fill the memory.
    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if isDraining, context.channel.isWritable { resume(context) }
        context.fireChannelWritabilityChanged()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // Input that is no HTTP is answered, too, and was no request.
        if case .end = unwrapOutboundIn(data), downstreamRequests > 0 { downstreamRequests -= 1 }
        context.write(data, promise: promise)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        isRemoved = true
        pendingEvents = []
        downstreamRequests = 0
        reservation = nil
        encoder = nil
    }

    private func take(_ head: HTTPRequest, _ data: NIOAny, _ context: ChannelHandlerContext) {
        guard downstreamRequests == 0,
            let call = responder.directCall(head, from: findPeer(context), after: &lastKey)
        else {
            downstreamRequests += 1
            return context.fireChannelRead(data)
        }
        state = .reading(call, ByteBuffer())
    }

    private func findPeer(_ context: ChannelHandlerContext) -> IPAddress? {
        if peer == nil { peer = IPAddress(context.channel.remoteAddress) }
        return peer
    }

    // MARK: What is answered

    private func start(_ call: DirectCall, _ body: ByteBuffer, _ context: ChannelHandlerContext) {
        state = .answering
        // Until the body was decoded.
        let room = reservation.take()
        defer { withExtendedLifetime(room) {} }
        let eventLoop = context.eventLoop
        let connection = NIOLoopBound((handler: self, context: context), eventLoop: eventLoop)
        responder.start(call, body: body, on: executor, logger: logger) { make in
            let finish: @Sendable () -> Void = { connection.value.handler.finish(make, connection.value.context) }
            if eventLoop.inEventLoop { finish() } else { eventLoop.execute(finish) }
        }
    }

    private func finish(_ make: () -> ByteBuffer, _ context: ChannelHandlerContext) {
        // Also for a caller who has left: the call is counted and logged as the answer is made.
        let bytes = make()
        guard !isRemoved else { return }
        encoder?.write(NIOAny(IOData.byteBuffer(bytes)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        isDraining = !context.channel.isWritable
        if !isDraining { resume(context) }
    }

    private func resume(_ context: ChannelHandlerContext) {
        isDraining = false
        state = .idle
        release(context)
    }

    /// Lets go what was held, as far as no held request is answered here itself.
    private func release(_ context: ChannelHandlerContext) {
        guard !isReleasing else { return }
        isReleasing = true
        defer { isReleasing = false }
        while !pendingEvents.isEmpty {
            if case .answering = state { return }
            switch pendingEvents.removeFirst() {
            case .part(let data): channelRead(context: context, data: data)
            case .event(let event): context.fireUserInboundEventTriggered(event)
            case .error(let error): context.fireErrorCaught(error)
            }
            if pendingEvents.isEmpty { channelReadComplete(context: context) }
        }
        if case .answering = state { return }
        guard holdsRead else { return }
        holdsRead = false
        context.read()
    }
}
