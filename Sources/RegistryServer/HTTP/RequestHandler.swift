import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import RegistryCore

/// Reads the requests of a connection or an HTTP/2 stream, starts their calls, and writes the responses. Closes
/// connections that would stay open forever because of slow bodies, unread bodies or stalled readers.
///
/// ``RequestState`` decides each step. A call runs as a task, first on the connection's event loop.
final class RequestHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundIn = Never
    typealias OutboundOut = ResponsePart

    /// Nil if the connection was lost.
    typealias Respond = @Sendable (Request) async -> Response?

    private enum Timer { case idle, body, reader, response, stop, end }

    private let respond: Respond
    private let limits: ServerConfiguration.Limits
    private let connection: Request.Connection
    private let slot: ConnectionSlot?
    private let isStream: Bool
    private var context: ChannelHandlerContext?
    private var state: RequestState
    private var body: RequestBody?
    private var writer: CheckedContinuation<Void, any Error>?
    private var timers: [Timer: Scheduled<Void>] = [:]
    private var idleSince = NIODeadline.distantPast
    private var owesRead = false
    private var isReleasing = false
    private var hasOwnBodyDeadline = false
    private var isBusy = false

    /// - Parameter isStream: Whether this is an HTTP/2 stream. Its connection handles idleness and the close.
    init(
        _ connection: Request.Connection,
        _ limits: ServerConfiguration.Limits,
        slot: ConnectionSlot?,
        isStream: Bool = false,
        respond: @escaping Respond
    ) {
        self.respond = respond
        self.limits = limits
        self.connection = connection
        self.slot = slot
        self.isStream = isStream
        state = RequestState(mostUnread: limits.unreadBody, isStream: isStream)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        idleSince = context.eventLoop.now
        if !isStream { awaitIdleness(for: limits.idleTimeout) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    private func end() {
        context = nil
        for timer in timers.values { timer.cancel() }
        timers = [:]
        body?.finish(isLost: true)
        writer.take()?.resume(throwing: ConnectionLost())
        if isBusy { slot?.noteOpen(-1) }
        isBusy = false
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { receive(.part(unwrapInboundIn(data))) }
    func channelReadComplete(context: ChannelHandlerContext) { completeRead() }

    func read(context: ChannelHandlerContext) {
        owesRead = true
        readIfAllowed()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed: receive(.inputClosed)
        case is ChannelShouldQuiesceEvent where !isStream: stop()
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case HTTPParserError.headerOverflow: receive(.fault(.headersTooLarge))
        case is HTTPParserError: receive(.fault(.malformedRequest))
        case let problem as Problem: receive(.fault(problem))
        default: context.close(promise: nil)
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            stopTimer(.reader)
            if !state.isStreaming { stopTimer(.response) }
            state.becameWritable()
            writer.take()?.resume()
            release()
        } else {
            startTimer(.reader, limits.stalledReader) { $0.closeNow() }
            startTimer(.response, limits.responseDeadline) { $0.closeNow() }
        }
        context.fireChannelWritabilityChanged()
    }

    private func receive(_ event: RequestState.Event) {
        perform(state.receive(event))
        update()
    }

    private func perform(_ action: RequestState.Action) {
        switch action {
        case .nothing: break
        case .start: start()
        case .addToBody(let bytes): if body?.add(bytes) == false { state.noteBody(isFull: true) }
        case .finishBody: endBody(isLost: false)
        case .refuse(let problem): refuse(problem)
        case .endConnection: endConnection()
        case .close: closeNow()
        }
    }

    private func completeRead() {
        perform(state.readCompleted())
        // Most requests arrive in one read. Only others need a timer.
        if state.isReadingBody, !hasOwnBodyDeadline, timers[.body] == nil {
            startTimer(.body, limits.requestDeadline) { $0.giveUpBody() }
        }
        update()
    }

    private func start() {
        guard let request = state.takeRequest(), let context else { return }
        hasOwnBodyDeadline = false
        let exchange = Exchange(self, number: state.number, on: context.eventLoop)
        let body: RequestBody
        if state.isReadingBody {
            let isExpected = request.head.headerFields[.expect]?.lowercased() == "100-continue"
            body = RequestBody(request.body, of: exchange, isExpected: isExpected)
            self.body = body
        } else {
            body = request.body.readableBytes == 0 ? .none : RequestBody(request.body)
        }
        let asked = Request(head: request.head, body: body, connection: connection, start: .now())
        Task.immediate(executorPreference: connection.executor) { [respond] in
            guard let response = await respond(asked) else { return exchange.close() }
            await exchange.send(response)
        }
    }

    private func endBody(isLost: Bool) {
        stopTimer(.body)
        body.take()?.finish(isLost: isLost)
    }

    private func giveUpBody() {
        timers[.body] = nil
        guard !state.isAnsweredEarly else { return closeNow() }
        perform(state.refuse(.requestTimeout))
        // A stream ends with the rest of its request, or after one more deadline.
        if isStream { startTimer(.body, limits.requestDeadline) { $0.giveUpBody() } }
        update()
    }

    private func refuse(_ problem: Problem) {
        endBody(isLost: true)
        write(Response(problem, requestID: RequestID.choose(nil)), for: state.number)
    }

    /// Starts held requests and continues reading, as far as earlier responses allow.
    private func release() {
        guard !isReleasing else { return }
        isReleasing = true
        var isAny = false
        while context != nil, let action = state.releaseNext() {
            isAny = true
            perform(action)
        }
        isReleasing = false
        if isAny { completeRead() } else { update() }
    }

    private func update() {
        // An answered stream counts until it closes, because its response may wait for the caller's window.
        if state.isBusy != isBusy, !isStream || !isBusy {
            isBusy.toggle()
            if slot?.noteOpen(isBusy ? 1 : -1) == false, isBusy { return closeNow() }
        }
        if !state.isReadingBody { stopTimer(.body) }
        readIfAllowed()
    }

    private func readIfAllowed() {
        guard owesRead, state.mayRead else { return }
        owesRead = false
        context?.read()
    }

    /// Closes the output after the last response, then reads and drops input for a second. Closing a socket with unread
    /// input resets it, and the caller would lose the response.
    private func endConnection() {
        afterWrites { handler in
            handler.stopTimer(.end)
            handler.context?.close(mode: .output, promise: nil)
            handler.startTimer(.end, .seconds(1)) { $0.closeNow() }
        }
    }

    /// Continues once all responses are in the socket, because a close would discard the rest, or closes after the time
    /// of a stalled reader.
    private func afterWrites(_ action: @escaping (RequestHandler) -> Void) {
        guard let context else { return }
        startTimer(.end, limits.stalledReader) { $0.closeNow() }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { [self] _ in action(self) }
        context.writeAndFlush(wrapOutboundOut(.bytes(ByteBuffer())), promise: written)
    }

    private func closeNow() { context?.close(promise: nil) }
}

/// Called by ``Exchange`` on the event loop.
extension RequestHandler {
    func write(_ response: Response, for number: Int) {
        guard state.expects(number), let context else { return }
        let bytes = response.bytes
        let head = head(of: response, contentLength: bytes.count)
        context.writeAndFlush(wrapOutboundOut(.whole(head, state.isHead ? [] : bytes)), promise: nil)
        responded(context)
    }

    /// - Returns: Whether to write the body, too.
    func beginResponse(_ response: Response, contentLength: Int?, for number: Int) -> Bool {
        guard state.expects(number), let context else { return false }
        let head = head(of: response, contentLength: contentLength)
        guard !state.isHead else {
            context.writeAndFlush(wrapOutboundOut(.whole(head, [])), promise: nil)
            responded(context)
            return false
        }
        state.beginStream()
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        return true
    }

    func write(_ bytes: ByteBuffer, for number: Int, _ continuation: CheckedContinuation<Void, any Error>) {
        guard state.expects(number), let context else { return continuation.resume(throwing: ConnectionLost()) }
        context.writeAndFlush(wrapOutboundOut(.bytes(bytes)), promise: nil)
        if context.channel.isWritable { continuation.resume() } else { writer = continuation }
    }

    func end(_ number: Int) {
        guard state.expects(number), let context else { return }
        context.writeAndFlush(wrapOutboundOut(.end), promise: nil)
        responded(context)
    }

    func close(_ number: Int) { if state.expects(number) { closeNow() } }

    func proceed(_ number: Int) {
        guard state.expects(number), !state.isStreaming else { return }
        context?.writeAndFlush(wrapOutboundOut(.proceed), promise: nil)
    }

    func readMore(_ number: Int) {
        guard state.expects(number) else { return }
        state.noteBody(isFull: false)
        readIfAllowed()
    }

    func endBodyDeadline(_ number: Int) {
        guard state.expects(number) else { return }
        hasOwnBodyDeadline = true
        stopTimer(.body)
    }

    private func head(of response: Response, contentLength: Int?) -> ResponseHead {
        if response.fields[.connection] == "close" { state.isLast = true }
        return ResponseHead(response: response, contentLength: contentLength, closes: state.closes)
    }

    private func responded(_ context: ChannelHandlerContext) {
        idleSince = context.eventLoop.now
        // The rest of a body after its response has no reader.
        body.take()?.finish(isLost: true)
        if context.channel.isWritable { stopTimer(.response) }
        if isStream { watchReader(context) }
        perform(state.responded(isWritable: context.channel.isWritable))
        release()
    }
}

extension RequestHandler {
    private func startTimer(_ timer: Timer, _ time: Duration, _ action: @escaping (RequestHandler) -> Void) {
        guard timers[timer] == nil, let context else { return }
        timers[timer] = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(time)) { action(self) }
    }

    /// A stream closes after its last byte. If the peer's window has no room, a small response stays unsent while the
    /// stream is writable.
    private func watchReader(_ context: ChannelHandlerContext) {
        context.eventLoop.assumeIsolated().execute { [self] in
            startTimer(.reader, limits.stalledReader) { $0.closeNow() }
        }
    }

    private func stopTimer(_ timer: Timer) { if !timers.isEmpty { timers.removeValue(forKey: timer)?.cancel() } }

    /// Closes the connection after `time` without a request. One timer serves all requests.
    private func awaitIdleness(for time: Duration) {
        startTimer(.idle, time) { handler in
            handler.timers[.idle] = nil
            let limit = handler.limits.idleTimeout
            guard !handler.isBusy, let context = handler.context else { return handler.awaitIdleness(for: limit) }
            let left = limit - Duration(context.eventLoop.now - handler.idleSince)
            if left > .zero { handler.awaitIdleness(for: left) } else { handler.closeNow() }
        }
    }

    /// The service stops. A request that is on its way still gets a response, the last one.
    private func stop() {
        guard !state.isStopping else { return }
        state.isStopping = true
        guard !isBusy else { return }
        startTimer(.stop, limits.lastRequestDeadline) { if !$0.isBusy { $0.afterWrites { $0.closeNow() } } }
    }
}
