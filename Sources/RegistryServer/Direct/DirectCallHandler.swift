import HTTPTypes
import Logging
import NIOCore
import NIOHTTPTypes
import RegistryCore
import RegistryStore

/// Answers hot calls in the connection's pipeline, without a task and without Hummingbird; all other requests pass.
///
/// Its state decides each step, which keeps the answers in order.
///
/// Answers are written as bytes, past the handlers that would encode parts; those are told of the ends.
final class DirectCallHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private typealias State = DirectCallState<DirectCall, DirectAnswer, Event>

    private enum Event {
        case part(NIOAny)
        case event(Any)
        case error(any Error)
    }

    private let responder: RegistryResponder
    private let logger: Logger
    private var executor: (any TaskExecutor)?
    /// The place in the pipeline from which bytes are written.
    private var encoder: ChannelHandlerContext?
    private var state = State()
    private var lastKey: RememberedKey?
    private var peer: IPAddress?

    /// - Parameter encoder: of responses, which bytes bypass.
    init(_ responder: RegistryResponder, logger: Logger, past encoder: ChannelHandlerContext) {
        self.responder = responder
        self.logger = logger
        self.encoder = encoder
    }

    func handlerAdded(context: ChannelHandlerContext) { executor = EventLoopExecutor(context.eventLoop) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let action = state.read(unwrapInboundIn(data), .part(data)) { head in
            responder.directCall(head, from: findPeer(context), after: &lastKey)
        }
        perform(action, context)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        let action = state.readCompleted { call in
            let announced = call.head.headerFields[.contentLength].flatMap(Int.init) ?? 0
            return try? responder.bodies.budget.reserve(announced, for: call.network)
        }
        perform(action, context)
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        perform(state.receive(.event(event)), context)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        perform(state.receive(.error(error)), context)
    }

    func read(context: ChannelHandlerContext) { perform(state.wantsRead(), context) }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        perform(state.writabilityChanged(isWritable: context.channel.isWritable), context)
        context.fireChannelWritabilityChanged()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { state.responseEnded() }
        context.write(data, promise: promise)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        state.removed()
        encoder = nil
    }

    private func findPeer(_ context: ChannelHandlerContext) -> IPAddress? {
        if peer == nil { peer = IPAddress(context.channel.remoteAddress) }
        return peer
    }

    private func perform(_ action: State.Action, _ context: ChannelHandlerContext) {
        switch action {
        case .nothing: break
        case .pass(let event): pass(event, context)
        case .receive(.part(let data)): channelRead(context: context, data: data)
        case .receive(let event): pass(event, context)
        case .completeRead: channelReadComplete(context: context)
        case .handOn: if let request = state.takeRequest() { handOn(request, context) }
        case .start: if let request = state.takeRequest() { start(request, context) }
        case .write(let answer):
            write(answer, context)
            perform(state.finished(isWritable: context.channel.isWritable), context)
        case .release: while let action = state.next() { perform(action, context) }
        case .read: context.read()
        }
    }

    private func write(_ answer: DirectAnswer, _ context: ChannelHandlerContext) {
        encoder?.write(NIOAny(IOData.byteBuffer(answer.bytes)), promise: nil)
        // The preceding handler flushes at the end.
        context.write(wrapOutboundOut(.end(nil)), promise: nil)
    }

    private func pass(_ event: Event, _ context: ChannelHandlerContext) {
        switch event {
        case .part(let data): context.fireChannelRead(data)
        case .event(let event): context.fireUserInboundEventTriggered(event)
        case .error(let error): context.fireErrorCaught(error)
        }
    }

    private func handOn(_ request: State.Request, _ context: ChannelHandlerContext) {
        context.fireChannelRead(wrapInboundOut(.head(request.call.head)))
        if request.body.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(.body(request.body))) }
    }

    private func start(_ request: State.Request, _ context: ChannelHandlerContext) {
        // Until the body is decoded.
        defer { withExtendedLifetime(request.room) {} }
        let eventLoop = context.eventLoop
        let connection = NIOLoopBound((handler: self, context: context), eventLoop: eventLoop)
        responder.start(request.call, body: request.body, on: executor, logger: logger) { make in
            let finish: @Sendable () -> Void = { connection.value.handler.finish(make, connection.value.context) }
            if eventLoop.inEventLoop { finish() } else { eventLoop.execute(finish) }
        }
    }

    private func finish(_ make: () -> DirectAnswer, _ context: ChannelHandlerContext) {
        // Also for a caller who has left: the call is counted and logged with its answer.
        perform(state.answered(make()), context)
    }
}
