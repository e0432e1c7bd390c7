import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import RegistryCore
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

        init() throws {
            let handler = RequestHandler(Request.Connection(channel), limits, slot: nil) { [calls] _ in
                await withCheckedContinuation { continuation in calls.waiting.withLock { $0.append(continuation) } }
            }
            try channel.pipeline.syncOperations.addHandler(handler)
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        }

        deinit { _ = try? channel.finish() }

        func ask() throws {
            try channel.writeInbound(HTTPRequestPart.head(.to("/")))
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
