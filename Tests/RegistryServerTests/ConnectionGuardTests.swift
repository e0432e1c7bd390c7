import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@testable import RegistryServer

/// The deadlines of answers that do not fit the socket's buffers, without sockets and without waiting.
@Suite(.timeLimit(.minutes(15))) struct ConnectionGuardTests {
    private static let limits = {
        var limits = ServerConfiguration.Limits()
        limits.lastRequestDeadline = .milliseconds(500)
        return limits
    }()

    /// A connection that has sent one whole request.
    private static func connection() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(handler: ConnectionGuard(limits))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try ask(channel)
        return channel
    }

    private static func ask(_ channel: EmbeddedChannel) throws {
        let request = HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: "/")
        try channel.writeInbound(HTTPRequestPart.head(request))
        try channel.writeInbound(HTTPRequestPart.end(nil))
    }

    private static func setWritable(_ isWritable: Bool, _ channel: EmbeddedChannel) {
        channel.isWritable = isWritable
        channel.pipeline.fireChannelWritabilityChanged()
    }

    private static func advance(_ channel: EmbeddedChannel, beyond deadline: Duration) {
        channel.embeddedEventLoop.advanceTime(by: TimeAmount(deadline) + .seconds(1))
    }

    private static func write(_ part: HTTPResponsePart, to channel: EmbeddedChannel) {
        channel.writeAndFlush(part, promise: nil)
    }

    @Test func `A connection outlives a large answer that was written as bytes`() throws {
        let channel = try Self.connection()
        Self.setWritable(false, channel)
        // The bytes went past the guard; only their end is told.
        Self.write(.end(nil), to: channel)
        Self.setWritable(true, channel)
        Self.advance(channel, beyond: Self.limits.answerDeadline)
        #expect(channel.isActive)
        _ = try channel.finish()
    }

    @Test func `A connection outlives an answer whose end alone did not fit`() throws {
        let channel = try Self.connection()
        Self.write(.head(HTTPResponse(status: .ok)), to: channel)
        Self.write(.end(nil), to: channel)
        Self.setWritable(false, channel)
        Self.setWritable(true, channel)
        Self.advance(channel, beyond: Self.limits.answerDeadline)
        #expect(channel.isActive)
        _ = try channel.finish()
    }

    @Test(arguments: [false, true]) func `A reader who stops is cut off`(isDirect: Bool) throws {
        let channel = try Self.connection()
        if !isDirect { Self.write(.head(HTTPResponse(status: .ok)), to: channel) }
        Self.setWritable(false, channel)
        if isDirect { Self.write(.end(nil), to: channel) }
        Self.advance(channel, beyond: Self.limits.stalledReader)
        #expect(!channel.isActive)
        _ = try? channel.finish()
    }

    @Test("A reader who takes a little now and then is cut off in the end") func aSlowReaderIsCutOff() throws {
        let channel = try Self.connection()
        Self.write(.head(HTTPResponse(status: .ok)), to: channel)
        let steps = Int(Self.limits.answerDeadline / Self.limits.stalledReader) * 2
        for _ in 0...steps where channel.isActive {
            Self.setWritable(false, channel)
            channel.embeddedEventLoop.advanceTime(by: TimeAmount(Self.limits.stalledReader / 2))
            Self.setWritable(true, channel)
        }
        Self.advance(channel, beyond: .zero)
        #expect(!channel.isActive)
        _ = try? channel.finish()
    }

    @Test("When the server stops, one answer more is given, and says that it is the last", arguments: [false, true])
    func oneAnswerMore(isUnderWay: Bool) throws {
        let channel = try Self.connection()
        if !isUnderWay { Self.write(.end(nil), to: channel) }
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        if !isUnderWay { try Self.ask(channel) }
        while try channel.readOutbound(as: HTTPResponsePart.self) != nil {}
        Self.write(.head(HTTPResponse(status: .ok)), to: channel)
        let part = try channel.readOutbound(as: HTTPResponsePart.self)
        guard case .head(let head)? = part else { throw MissingPart() }
        #expect(head.headerFields[.connection] == "close")
        Self.write(.end(nil), to: channel)
        #expect(!channel.isActive)
        _ = try? channel.finish()
    }

    @Test func `When the server stops, a connection over which nothing comes is closed soon`() throws {
        let channel = try Self.connection()
        try channel.pipeline.syncOperations.addHandler(ClosingHandler())
        Self.write(.end(nil), to: channel)
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        #expect(channel.isActive)
        Self.advance(channel, beyond: Self.limits.lastRequestDeadline)
        #expect(!channel.isActive)
        _ = try? channel.finish()
    }

    private struct MissingPart: Error {}

    /// Closes as the layers behind the guard do when the server stops.
    private final class ClosingHandler: ChannelInboundHandler {
        typealias InboundIn = HTTPRequestPart

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event is ChannelShouldQuiesceEvent { context.close(promise: nil) }
        }
    }
}
