import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOHTTP2

/// TLS connections that speak HTTP/2 or HTTP/1.1, as their handshake (ALPN) says, and that must get that far in time:
/// no timer of the layers below runs before they do.
struct SecureChannel: ServerChildChannel {
    private let base: HTTP2UpgradeChannel
    private let handshakeDeadline: TimeAmount

    init(
        _ identity: TLSIdentity,
        _ limits: ServerConfiguration.Limits,
        _ streams: HTTP1Channel.Configuration,
        responder: @escaping HTTPChannelHandler.Responder
    ) throws {
        base = try HTTP2UpgradeChannel(
            tlsConfiguration: identity.configuration,
            configuration: HTTP2ChannelConfiguration(
                idleTimeout: limits.idleTimeout,
                gracefulCloseTimeout: limits.requestDeadline,
                streamConfiguration: streams
            ),
            responder: responder
        )
        handshakeDeadline = TimeAmount(limits.requestDeadline)
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP2UpgradeChannel.Value> {
        channel.eventLoop.scheduleTask(in: handshakeDeadline) {
            let pipeline = channel.pipeline.syncOperations
            let speaks =
                (try? pipeline.handler(type: ConnectionGuard.self)) != nil
                || (try? pipeline.handler(type: NIOHTTP2Handler.self)) != nil
            if !speaks { channel.close(promise: nil) }
        }
        return base.setup(channel: channel, logger: logger)
    }

    func handle(value: HTTP2UpgradeChannel.Value, logger: Logger) async {
        await base.handle(value: value, logger: logger)
    }
}
