import HTTPTypes
import Logging
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Synchronization
import Testing

@testable import RegistryServer

/// Deadlines of connections and the server's shutdown, without sockets and waits.
@Suite(.timeLimit(.minutes(15))) struct RequestHandlerTests {
    private static let limits = {
        var limits = ServerConfiguration.Limits()
        limits.lastRequestDeadline = .milliseconds(500)
        return limits
    }()

    /// A connection with responses that the test triggers.
    private final class Connection {
        let channel = EmbeddedChannel()
        private let calls = Calls()

        private final class Calls: Sendable {
            let waiting = Mutex<[CheckedContinuation<Response, Never>]>([])
        }

        init(slot: ConnectionSlot? = nil, isStream: Bool = false) throws {
            let connection = Request.Connection(channel)
            let handler = RequestHandler(connection, limits, slot: slot, isStream: isStream) { [calls] _ in
                await withCheckedContinuation { continuation in calls.waiting.withLock { $0.append(continuation) } }
            }
            try channel.pipeline.syncOperations.addHandler(handler)
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        }

        deinit { _ = try? channel.finish() }

        func ask(isLast: Bool = false) throws {
            var head = HTTPRequest.to("/")
            if isLast { head.headerFields[.connection] = "close" }
            try channel.writeInbound(HTTPRequestPart.head(head))
            try channel.writeInbound(HTTPRequestPart.end(nil))
        }

        func answer(_ response: Response = .noContent) {
            calls.waiting.withLock { $0.removeFirst() }.resume(returning: response)
            channel.embeddedEventLoop.run()
        }

        func setWritable(_ isWritable: Bool) {
            channel.isWritable = isWritable
            channel.pipeline.fireChannelWritabilityChanged()
            channel.embeddedEventLoop.run()
        }

        func advance(by time: Duration) { channel.embeddedEventLoop.advanceTime(by: TimeAmount(time)) }
        func advance(beyond deadline: Duration) { advance(by: deadline + .seconds(1)) }

        func heads() throws -> [ResponseHead] {
            var heads: [ResponseHead] = []
            while let part = try channel.readOutbound(as: ResponsePart.self) {
                switch part {
                case .whole(let head, _), .head(let head): heads.append(head)
                case .proceed, .bytes, .end: break
                }
            }
            return heads
        }
    }

    /// A socket whose buffer is full: nothing is written before the test says so.
    private final class FullSocket: ChannelOutboundHandler {
        typealias OutboundIn = ResponsePart

        var written: [EventLoopPromise<Void>] = []

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            if let promise { written.append(promise) }
        }
    }

    @Test(arguments: [false, true])
    func `A connection is closed once its last response is in the socket`(isClosedByCaller: Bool) throws {
        let (connection, socket) = (try Connection(), FullSocket())
        try connection.channel.pipeline.syncOperations.addHandler(socket, position: .first)
        try connection.ask(isLast: !isClosedByCaller)
        if isClosedByCaller { connection.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }
        connection.answer()
        connection.advance(beyond: .seconds(5))
        #expect(connection.channel.isActive)
        for promise in socket.written { promise.succeed() }
        connection.advance(beyond: .seconds(1))
        #expect(!connection.channel.isActive)
    }

    private struct Endless: ResponseStream {
        func write(to writer: Exchange) async throws {
            while true { try await writer.write(ByteBuffer(string: "a line\n")) }
        }
    }

    @Test func `A connection stays open while its reader takes a large response`() throws {
        let connection = try Connection()
        try connection.ask()
        connection.setWritable(false)
        connection.answer()
        connection.setWritable(true)
        connection.advance(by: Self.limits.idleTimeout / 2)
        #expect(connection.channel.isActive)
        try connection.ask()
        connection.advance(beyond: Self.limits.responseDeadline)
        #expect(connection.channel.isActive)
        connection.answer()
    }

    @Test(arguments: [false, true]) func `A reader that stops is disconnected`(isStream: Bool) throws {
        let connection = try Connection()
        try connection.ask()
        connection.setWritable(false)
        connection.answer(isStream ? .stream(Endless()) : .noContent)
        connection.advance(beyond: Self.limits.stalledReader)
        #expect(!connection.channel.isActive)
    }

    @Test func `A reader that reads too slowly is disconnected in the end`() throws {
        let connection = try Connection()
        try connection.ask()
        connection.setWritable(false)
        connection.answer(.stream(Endless()))
        let steps = Int(Self.limits.responseDeadline / Self.limits.stalledReader) * 2
        for _ in 0...steps where connection.channel.isActive {
            connection.advance(by: Self.limits.stalledReader / 2)
            // The next chunk fills the buffers again.
            connection.channel.isWritable = true
            connection.channel.pipeline.fireChannelWritabilityChanged()
            connection.setWritable(false)
        }
        connection.advance(beyond: .zero)
        #expect(!connection.channel.isActive)
    }

    @Test func `A connection without a request is closed, and one waiting for its response is not`() throws {
        let connection = try Connection()
        connection.advance(by: Self.limits.idleTimeout / 2)
        try connection.ask()
        connection.advance(beyond: Self.limits.idleTimeout * 3)
        #expect(connection.channel.isActive)
        connection.answer()
        connection.advance(beyond: Self.limits.idleTimeout * 2)
        #expect(!connection.channel.isActive)
    }

    @Test(arguments: [false, true])
    func `An answered stream counts until it closes, because it may wait for the caller`(isStream: Bool) throws {
        let slot = ConnectionSlot(0, of: ConnectionCount(Self.limits, trusted: [], logger: Logger(label: "test")))
        let connection = try Connection(slot: slot, isStream: isStream)
        try connection.ask()
        #expect(slot.open == 1)
        connection.answer()
        #expect(slot.open == (isStream ? 1 : 0))
        _ = try connection.channel.finish()
        #expect(slot.open == 0)
    }

    @Test(arguments: [false, true])
    func `A stopping server gives one more response and marks it as the last`(isUnderWay: Bool) throws {
        let connection = try Connection()
        if isUnderWay { try connection.ask() }
        connection.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        if !isUnderWay { try connection.ask() }
        connection.answer()
        #expect(try connection.heads().map(\.closes) == [true])
        connection.advance(beyond: .seconds(1))
        #expect(!connection.channel.isActive)
    }

    @Test func `A stopping server soon closes a silent connection`() throws {
        let connection = try Connection()
        connection.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        #expect(connection.channel.isActive)
        connection.advance(beyond: Self.limits.lastRequestDeadline)
        #expect(!connection.channel.isActive)
    }

    @Test func `A late body gets a response, and the call's later output is not written`() throws {
        let connection = try Connection()
        try connection.channel.writeInbound(HTTPRequestPart.head(.to("/")))
        connection.advance(beyond: Self.limits.requestDeadline)
        #expect(try connection.heads().map(\.response.status) == [.requestTimeout])
        connection.advance(beyond: .seconds(1))
        #expect(!connection.channel.isActive)
        connection.answer()
        #expect(try connection.heads().isEmpty)
    }
}

@Suite struct RequestStateTests {
    /// A connection that performs steps, and records the actions of its state and the answers to questions.
    private struct Connection {
        var state: RequestState
        private(set) var actions: [String] = []

        init(isStream: Bool) { state = RequestState(mostUnread: 10, isStream: isStream) }

        /// Performs a step. `head` is followed by a path and a value of `Connection`, if any.
        mutating func perform(_ step: String) {
            let words = step.split(separator: " ").map(String.init)
            switch words[0] {
            case "head":
                var head = HTTPRequest.to(words[1])
                if words.count > 2 { head.headerFields[.connection] = words[2] }
                perform(state.receive(.part(.head(head))))
            case "body": perform(state.receive(.part(.body(ByteBuffer(string: words[1])))))
            case "end": perform(state.receive(.part(.end(nil))))
            case "pause": perform(state.readCompleted())
            case "fault": perform(state.receive(.fault(.malformedRequest)))
            case "close": perform(state.receive(.inputClosed))
            case "stream": state.beginStream()
            case "full", "taken": state.noteBody(isFull: words[0] == "full")
            case "respond", "respond-late":
                perform(state.responded(isWritable: words[0] == "respond"))
                release()
            case "writable":
                state.becameWritable()
                release()
            case "busy?": actions.append(state.isBusy ? "busy" : "idle")
            case "reads?": actions.append(state.mayRead ? "reads" : "waits")
            case "closes?": actions.append(state.closes ? "closes" : "stays")
            default: Issue.record("\(step)")
            }
        }

        private mutating func release() { while let action = state.releaseNext() { perform(action) } }

        private mutating func perform(_ action: RequestState.Action) {
            switch action {
            case .nothing: break
            case .start:
                let request = state.takeRequest()
                actions.append("start \(request?.head.path ?? "") \(String(buffer: request?.body ?? ByteBuffer()))")
            case .addToBody(let bytes): actions.append("add \(String(buffer: bytes))")
            case .finishBody: actions.append("finish")
            case .refuse: actions.append("refuse")
            case .endConnection: actions.append("end connection")
            case .close: actions.append("close")
            }
        }
    }

    private static let scripts: [(rule: String, steps: String, actions: [String])] = [
        (
            "a whole request starts with its body", "head /1;body ab;body cd;end;busy?;reads?",
            ["start /1 abcd", "busy", "reads"]
        ),
        (
            "a request starts without the rest of its body", "head /1;body ab;busy?;pause;body cd;end",
            ["busy", "start /1 ab", "add cd", "finish"]
        ),
        (
            "requests behind a running one are held and start in order",
            "head /1;end;head /2;end;head /3;end;reads?;respond;reads?;respond;reads?;respond;busy?",
            ["start /1 ", "waits", "start /2 ", "waits", "start /3 ", "reads", "idle"]
        ),
        (
            "until a response is written, no request starts and nothing is read",
            "head /1;end;head /2;end;respond-late;reads?;writable", ["start /1 ", "waits", "start /2 "]
        ),
        (
            "nothing is read until the call takes the body", "head /1;pause;full;reads?;taken;reads?",
            ["start /1 ", "waits", "reads"]
        ),
        (
            "the rest of a body is dropped after an early response, up to a limit",
            "head /1;pause;respond;body 0123456789;end;head /2;end;respond;head /3;pause;respond;reads?;body 0123456789a",
            ["start /1 ", "start /2 ", "start /3 ", "reads", "close"]
        ),
        (
            "the last request ends the connection, and later bytes are ignored",
            "head /1 close;end;head /2;end;closes?;reads?;respond", ["start /1 ", "closes", "waits", "end connection"]
        ),
        (
            "a connection that ends after its response ends after the rest of its request",
            "head /1 close;pause;respond;closes?;end", ["start /1 ", "closes", "end connection"]
        ),
        (
            "a fault waits for the response before it",
            "head /1;end;fault;busy?;respond;busy?;respond;reads?",
            ["start /1 ", "busy", "refuse", "busy", "end connection", "reads"]
        ),
        ("a fault within a body gets a response", "head /1;pause;fault", ["start /1 ", "refuse"]),
        ("a fault during a stream ends the connection", "head /1;pause;stream;fault", ["start /1 ", "close"]),
        (
            "a caller that sends nothing more gets the response", "head /1;end;close;respond",
            ["start /1 ", "end connection"]
        ),
    ]

    @Test(arguments: scripts) func `A connection follows its rules`(
        _ rule: String,
        _ steps: String,
        _ actions: [String]
    ) {
        var connection = Connection(isStream: false)
        for step in steps.split(separator: ";") { connection.perform(String(step)) }
        #expect(connection.actions == actions, "\(rule)")
    }

    @Test func `After a fault within a body, the call's own response is dropped`() {
        var connection = Connection(isStream: false)
        for step in ["head /1", "pause"] { connection.perform(step) }
        let number = connection.state.number
        #expect(connection.state.expects(number))
        connection.perform("fault")
        #expect(!connection.state.expects(number) && connection.state.expects(connection.state.number))
    }

    @Test func `Held parts of a body count as one, and a caller cannot have any number of held requests`() {
        var connection = Connection(isStream: false)
        let parts = Array(repeating: "body x", count: 5000)
        for step in ["head /1", "end", "head /2"] + parts { connection.perform(step) }
        #expect(connection.actions == ["start /1 "])
        for _ in 0..<1024 { for step in ["end", "head /3"] { connection.perform(step) } }
        #expect(connection.actions.last == "close")
    }

    @Test func `A stream closes at its own end, not with its response`() {
        var connection = Connection(isStream: true)
        for step in ["head /1", "pause", "fault", "respond", "body rest", "end", "closes?"] { connection.perform(step) }
        #expect(connection.actions == ["start /1 ", "refuse", "stays"])
    }
}

extension HTTPRequest {
    static func to(_ path: String) -> HTTPRequest {
        HTTPRequest(method: .put, scheme: "http", authority: "localhost", path: path)
    }
}
