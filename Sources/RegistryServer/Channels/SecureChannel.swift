import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP2
import NIOSSL

/// TLS connections with HTTP/2 or HTTP/1.1 by ALPN. The handshake has a deadline of its own, because no timer of the
/// layers below runs before its end.
struct SecureChannel: ServerChildChannel {
    private typealias Connection = EventLoopChannel<HTTP1Channel>

    struct Value: ServerChildChannelValue {
        fileprivate typealias Negotiated = NIONegotiatedHTTPVersion<HTTP1Channel.Value, StreamsChannel.Value>

        fileprivate let negotiated: EventLoopFuture<Negotiated>
        let channel: any Channel
    }

    private let context: NIOSSLContext
    private let connections: Connection
    private let streams: StreamsChannel
    private let handshakeDeadline: TimeAmount

    /// - Parameter direct: answers hot calls in the pipelines of connections and streams; nil leaves all to
    ///   `responder`.
    init(
        _ identity: TLSIdentity,
        _ limits: ServerConfiguration.Limits,
        _ connections: HTTP1Channel.Configuration,
        direct: RegistryResponder?,
        responder: @escaping HTTPChannelHandler.Responder
    ) throws {
        var configuration = identity.configuration
        configuration.applicationProtocols = NIOHTTP2SupportedALPNProtocols
        context = try NIOSSLContext(configuration: configuration)
        self.connections = EventLoopChannel(
            base: HTTP1Channel(responder: responder, configuration: connections),
            direct: direct
        )
        streams = StreamsChannel(limits: limits, direct: direct, responder: responder)
        handshakeDeadline = TimeAmount(limits.requestDeadline)
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let timer = channel.eventLoop.scheduleTask(in: handshakeDeadline) {
            let pipeline = channel.pipeline.syncOperations
            let speaks =
                (try? pipeline.handler(type: ConnectionGuard.self)) != nil
                || (try? pipeline.handler(type: NIOHTTP2Handler.self)) != nil
            if !speaks { channel.close(promise: nil) }
        }
        // It would retain the channel of a closed connection.
        channel.closeFuture.whenComplete { _ in timer.cancel() }
        do {
            // A peer that has closed its side has left. Otherwise an HTTP/2 connection would stay open until its idle
            // timeout.
            try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: false)
            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
        return channel.configureHTTP2AsyncSecureUpgrade { channel in
            connections.setup(channel: channel, logger: logger)
        } http2ConnectionInitializer: { channel in
            streams.setup(channel: channel, logger: logger)
        }
        .map { Value(negotiated: $0, channel: channel) }
    }

    func handle(value: Value, logger: Logger) async {
        do {
            switch try await value.negotiated.get() {
            case .http1_1(let connection): await connections.base.handle(value: connection, logger: logger)
            case .http2(let connection): await streams.handle(value: connection, logger: logger)
            }
        } catch {
            logger.debug("a connection ended before it spoke HTTP", metadata: ["reason": "\(error)"])
        }
    }
}
