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

    private enum Held {
        case part(NIOAny)
        case event(Any)
        case error(any Error)
    }

    private let responder: RegistryResponder
    private let executor: any TaskExecutor
    private let logger: Logger
    /// What is written here is bytes.
    private var encoder: ChannelHandlerContext?
    private var caller: LoneCaller.Connection
    private var state = State.idle
    private var lastKey: RememberedKey?
    /// Requests behind this handler that are not answered.
    private var passed = 0 {
        didSet { responder.loneCaller.noteOpen(passed - oldValue) }
    }
    private var held: [Held] = []
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
        caller = responder.loneCaller.connection()
    }

    // MARK: What comes

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch (state, unwrapInboundIn(data)) {
        case (.answering, _): held.append(.part(data))
        case (.idle, .head(let head)): take(head, data, context)
        case (.reading(let call, var body), .body(var part)):
            state = .idle
            body.writeBuffer(&part)
            state = .reading(call, body)
        case (.reading(let call, let body), .end): perform(call, body, context)
        case (.idle, _), (.reading, .head): context.fireChannelRead(data)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .answering = state else { return context.fireUserInboundEventTriggered(event) }
        held.append(.event(event))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard case .answering = state else { return context.fireErrorCaught(error) }
        held.append(.error(error))
    }

    func read(context: ChannelHandlerContext) {
        // Who waits for his answer sends nothing meanwhile, and telling the kernel to look away and back again is dear.
        guard case .answering = state, !held.isEmpty || isDraining else { return context.read() }
        holdsRead = true
    }

    /// A reader who stops gets no further answers, so that they do not fill the memory.
    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if isDraining, context.channel.isWritable { goOn(context) }
        context.fireChannelWritabilityChanged()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // What is no HTTP is answered, too, and was no request.
        if case .end = unwrapOutboundIn(data), passed > 0 { passed -= 1 }
        context.write(data, promise: promise)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        isRemoved = true
        if case .answering = state, !isDraining { caller.noteAnswer(of: responder.loneCaller) }
        held = []
        passed = 0
        encoder = nil
    }

    private func take(_ head: HTTPRequest, _ data: NIOAny, _ context: ChannelHandlerContext) {
        guard passed == 0, let call = responder.directCall(head, from: context.channel.remoteAddress, after: &lastKey)
        else {
            passed += 1
            return context.fireChannelRead(data)
        }
        state = .reading(call, ByteBuffer())
    }

    // MARK: What is answered

    private func perform(_ call: DirectCall, _ body: ByteBuffer, _ context: ChannelHandlerContext) {
        state = .answering
        caller.noteRequest(of: responder.loneCaller)
        let eventLoop = context.eventLoop
        let connection = NIOLoopBound((handler: self, context: context), eventLoop: eventLoop)
        let thread = CallersThread(executor: executor, isSpare: caller.isAlone)
        responder.perform(call, body: body, on: thread, logger: logger) { make in
            let finish: @Sendable () -> Void = { connection.value.handler.finish(make, connection.value.context) }
            if eventLoop.inEventLoop { finish() } else { eventLoop.execute(finish) }
        }
    }

    private func finish(_ make: () -> ByteBuffer, _ context: ChannelHandlerContext) {
        guard !isRemoved else { return }
        encoder?.write(NIOAny(IOData.byteBuffer(make())), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        caller.noteAnswer(of: responder.loneCaller)
        isDraining = !context.channel.isWritable
        guard !isDraining else { return }
        goOn(context)
        if caller.isInHaste, case .idle = state { lookOut(context) }
    }

    /// Looks out for the next request, once all else is done that this turn of the event loop has to do.
    private func lookOut(_ context: ChannelHandlerContext) {
        let connection = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        context.eventLoop.execute {
            let (handler, context) = connection.value
            guard !handler.isRemoved else { return }
            let operations = context.pipeline.syncOperations
            _ = try? operations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { LoneCaller.lookOut($0) }
        }
    }

    private func goOn(_ context: ChannelHandlerContext) {
        isDraining = false
        state = .idle
        release(context)
    }

    /// Lets go what was held, as far as no held request is answered here itself.
    private func release(_ context: ChannelHandlerContext) {
        guard !isReleasing else { return }
        isReleasing = true
        defer { isReleasing = false }
        while !held.isEmpty {
            if case .answering = state { return }
            switch held.removeFirst() {
            case .part(let data): channelRead(context: context, data: data)
            case .event(let event): context.fireUserInboundEventTriggered(event)
            case .error(let error): context.fireErrorCaught(error)
            }
            if held.isEmpty { context.fireChannelReadComplete() }
        }
        guard holdsRead, case .idle = state else { return }
        holdsRead = false
        context.read()
    }
}
