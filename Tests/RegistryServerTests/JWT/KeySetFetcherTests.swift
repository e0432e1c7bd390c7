import NIOCore
import NIOPosix
import RegistryCore
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(1))) struct KeySetFetcherTests {
    @Test func `Keys that arrive one byte at a time are refused`() async throws {
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(SlowIssuer()) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        let fetcher = KeySetFetcher(allowsInternal: true, deadline: .milliseconds(200))
        await #expect(throws: JSONFaultReason("did not answer in time")) {
            try await fetcher.fetch("http://127.0.0.1:\(port)/keys")
        }
        try await server.close()
    }
}

/// Sends a header at once, and then a space of the body every few milliseconds forever.
private final class SlowIssuer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var next: RepeatedTask?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard next == nil else { return }
        let channel = context.channel
        channel.writeAndFlush(ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n"), promise: nil)
        next = context.eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(10)) { _ in
            channel.writeAndFlush(ByteBuffer(string: " "), promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) { next?.cancel() }
}
