import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import RegistryCore

/// Reads the requests of a connection, or of one stream of HTTP/2, starts their calls, writes the responses, and closes connections
/// that would stay open forever: with a body that trickles in or is not read, or a reader that has stopped.
///
/// ``RequestState`` decides each step. A call runs as a task, on the connection's event loop until it says otherwise.
final class RequestHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundIn = Never
    typealias OutboundOut = ResponsePart

    /// Answers a request; nil if the connection was lost meanwhile.
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
    /// The writer of a stream that waits for its reader.
    private var writer: CheckedContinuation<Void, any Error>?
    private var timers: [Timer: Scheduled<Void>] = [:]
    private var idleSince = NIODeadline.distantPast
    private var owesRead = false
    private var isReleasing = false
    private var hasOwnBodyDeadline = false
    private var isBusy = false

    /// - Parameters:
    ///   - slot: the connection's entry in the table of connections.
    ///   - isStream: whether it is for a stream of HTTP/2, whose connection has its own idle timer and end.
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
        if !isStream { awaitIdleness(for: TimeAmount(limits.idleTimeout)) }
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
        case let error as MalformedRequest: receive(.fault(error.problem))
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
}

extension RequestHandler {
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
        // Most requests arrive in one read; only the others need a timer.
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
        // A stream ends with the rest of its request, or after the same time again.
        if isStream { startTimer(.body, limits.requestDeadline) { $0.giveUpBody() } }
        update()
    }

    private func refuse(_ problem: Problem) {
        endBody(isLost: true)
        write(Response(problem, requestID: RequestID.choose(nil)), for: state.number)
    }

    /// Begins held requests, and reads on, as far as the responses before them allow.
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
        if state.isBusy != isBusy {
            isBusy.toggle()
            slot?.noteOpen(isBusy ? 1 : -1)
        }
        if !state.isReadingBody { stopTimer(.body) }
        readIfAllowed()
    }

    private func readIfAllowed() {
        guard owesRead, state.mayRead else { return }
        owesRead = false
        context?.read()
    }

    /// Ends the connection behind its last response. Closed while input is unread, it would be reset, and the caller would lose the
    /// response; so what still comes is read and dropped for a moment.
    private func endConnection() {
        context?.close(mode: .output, promise: nil)
        startTimer(.end, Duration.seconds(1)) { $0.closeNow() }
    }

    private func closeNow() { context?.close(promise: nil) }
}

/// For ``Exchange``, on the event loop.
extension RequestHandler {
    func write(_ response: Response, for number: Int) {
        guard state.expects(number), let context else { return }
        let bytes = response.bytes
        let head = head(of: response, contentLength: bytes.count)
        context.writeAndFlush(wrapOutboundOut(.whole(head, state.isHead ? [] : bytes)), promise: nil)
        responded(context)
    }

    /// - Returns: whether the body is wanted, too.
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
        // Nobody reads the rest of a body that comes after its response.
        body.take()?.finish(isLost: true)
        if context.channel.isWritable { stopTimer(.response) }
        if isStream { watchReader(context) }
        perform(state.responded(isWritable: context.channel.isWritable))
        release()
    }
}

extension RequestHandler {
    private func startTimer(_ timer: Timer, _ time: Duration, _ action: @escaping (RequestHandler) -> Void) {
        startTimer(timer, TimeAmount(time), action)
    }

    private func startTimer(_ timer: Timer, _ time: TimeAmount, _ action: @escaping (RequestHandler) -> Void) {
        guard timers[timer] == nil, let context else { return }
        timers[timer] = context.eventLoop.assumeIsolated().scheduleTask(in: time) { action(self) }
    }

    /// A stream closes with its last byte. A small response that the reader's window has no room for leaves it writable.
    private func watchReader(_ context: ChannelHandlerContext) {
        context.eventLoop.assumeIsolated().execute { [self] in
            startTimer(.reader, limits.stalledReader) { $0.closeNow() }
        }
    }

    private func stopTimer(_ timer: Timer) {
        if !timers.isEmpty { timers.removeValue(forKey: timer)?.cancel() }
    }

    /// Closes the connection once it was without a request for so long. One timer watches it, so that requests need none.
    private func awaitIdleness(for time: TimeAmount) {
        startTimer(.idle, time) { handler in
            handler.timers[.idle] = nil
            let limit = TimeAmount(handler.limits.idleTimeout)
            guard !handler.isBusy, let context = handler.context else { return handler.awaitIdleness(for: limit) }
            let left = handler.idleSince + limit - context.eventLoop.now
            if left > .zero { handler.awaitIdleness(for: left) } else { handler.closeNow() }
        }
    }

    /// The server stops. A request may be on its way, and is answered; its response is the last.
    private func stop() {
        guard !state.isStopping else { return }
        state.isStopping = true
        guard !isBusy else { return }
        guard limits.lastRequestDeadline > .zero else { return closeNow() }
        startTimer(.stop, limits.lastRequestDeadline) { if !$0.isBusy { $0.closeNow() } }
    }
}
