import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP2
import NIOHTTPTypesHTTP2

/// HTTP/2 connections: hot calls are answered on the connection itself, and each other stream has its own channel,
/// handled as a connection of one request.
struct StreamsChannel: ServerChildChannel {
    struct Value: ServerChildChannelValue {
        fileprivate let streams: AsyncStream<HTTP1Channel.Value>
        let channel: any Channel
    }

    let limits: ServerConfiguration.Limits
    let direct: RegistryResponder?
    let responder: HTTPChannelHandler.Responder

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            let (streams, continuation) = AsyncStream.makeStream(of: HTTP1Channel.Value.self)
            channel.closeFuture.whenComplete { _ in continuation.finish() }
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(NIOHTTP2Handler(mode: .server))
            try addManagement(pipeline, channel.eventLoop)
            if let direct { try pipeline.addHandler(DirectStreamHandler(direct, limits, logger: logger)) }
            let multiplexer = HTTP2StreamMultiplexer(mode: .server, channel: channel) { [limits] stream in
                stream.eventLoop.makeCompletedFuture {
                    let pipeline = stream.pipeline.syncOperations
                    try pipeline.addHandler(HTTP2FramePayloadToHTTPServerCodec())
                    try pipeline.addHandler(ConnectionGuard(limits))
                    continuation.yield(try HTTP1Channel.Value(wrappingChannelSynchronously: stream))
                }
            }
            try pipeline.addHandler(multiplexer)
            return Value(streams: streams, channel: channel)
        }
    }

    /// Ends idle connections, and those of a stopping service after the answers of their streams.
    private func addManagement(
        _ pipeline: ChannelPipeline.SynchronousOperations,
        _ eventLoop: any EventLoop
    ) throws {
        let configuration = NIOHTTP2ServerConnectionManagementHandler.Configuration(
            maxIdleTime: TimeAmount(limits.idleTimeout),
            maxAge: nil,
            maxGraceTime: TimeAmount(limits.requestDeadline),
            keepalive: nil
        )
        let management = NIOHTTP2ServerConnectionManagementHandler(eventLoop: eventLoop, configuration: configuration)
        try pipeline.addHandler(management)
        // The channel became active before the handshake, so this handler must be told.
        management.channelActive(context: try pipeline.context(handler: management))
    }

    func handle(value: Value, logger: Logger) async {
        await withDiscardingTaskGroup { group in
            for await stream in value.streams {
                group.addTask { await handleHTTP(asyncChannel: stream, logger: logger) }
            }
        }
    }
}

extension StreamsChannel: HTTPChannelHandler {}
