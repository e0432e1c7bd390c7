import Logging
import NIOCore
import NIOExtras
import NIOHTTP2
import NIOPosix
import NIOSSL
import NIOTLS
import RegistryCore
import ServiceLifecycle

/// A port with its connections: HTTP/1.1, and with TLS also HTTP/2 by ALPN.
///
/// On graceful shutdown it accepts no more connections, and ends after the requests in flight.
struct Listener: Service {
    private let configuration: ServerConfiguration
    private let limits: ServerConfiguration.Limits
    private let count: ConnectionCount
    private let tls: NIOSSLContext?
    private let onServing: @Sendable (_ port: Int) async -> Void
    private let respond: RequestHandler.Respond

    /// - Parameters:
    ///   - local: The addresses of this machine. Like trusted proxies, they have no connection limit.
    ///   - onServing: Called with the port once requests are accepted. Port 0 lets the system choose.
    init(
        _ configuration: ServerConfiguration,
        local: [AddressRange] = IPAddress.loopback,
        logger: Logger,
        onServing: @escaping @Sendable (_ port: Int) async -> Void = { _ in },
        respond: @escaping RequestHandler.Respond
    ) throws {
        self.configuration = configuration
        limits = configuration.limits
        count = ConnectionCount(limits, trusted: local + configuration.trustedProxies, logger: logger)
        tls = try configuration.tls.map { identity in
            var configuration = identity.configuration
            configuration.applicationProtocols = NIOHTTP2SupportedALPNProtocols
            return try NIOSSLContext(configuration: configuration)
        }
        self.onServing = onServing
        self.respond = respond
    }

    func run() async throws {
        let group = MultiThreadedEventLoopGroup.singleton
        let quiescing = ServerQuiescingHelper(group: group)
        let mostAccepted = limits.connections + ServerConfiguration.Limits.evictionHeadroom
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: Int32(limits.backlog))
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // By default NIO accepts 4 connections per turn of the event loop. Under load turns are long, and the
            // kernel's queue fills.
            .serverChannelOption(.maxMessagesPerRead, value: 256)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(AcceptLimit(mostAccepted))
                    try pipeline.addHandler(quiescing.makeServerChannelHandler(channel: channel))
                }
            }
            .childChannelOption(.allowRemoteHalfClosure, value: tls == nil)
            // So that pauses in reading take effect soon.
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelInitializer { channel in channel.eventLoop.makeCompletedFuture { try accept(channel) } }
        let server: any Channel
        do {
            server = try await bootstrap.bind(host: configuration.host, port: configuration.port).get()
        } catch { throw ListenFailure(port: configuration.port, cause: error) }
        let ended = server.eventLoop.makePromise(of: Void.self)
        await withGracefulShutdownHandler {
            await onServing(server.localAddress?.port ?? configuration.port)
            await withTaskCancellationHandler {
                try? await ended.futureResult.get()
            } onCancel: {
                quiescing.initiateShutdown(promise: ended)
                count.closeAll()
            }
        } onGracefulShutdown: {
            quiescing.initiateShutdown(promise: ended)
        }
    }

    /// If it throws, NIO closes the connection.
    private func accept(_ channel: any Channel) throws {
        let slot = NIOLoopBound(try count.admit(channel), eventLoop: channel.eventLoop)
        guard let tls else { return try addHTTP1(to: channel, slot.value) }
        // Later handlers have no timers before the end of the handshake.
        let timer = channel.eventLoop.scheduleTask(in: TimeAmount(limits.requestDeadline)) {
            channel.close(promise: nil)
        }
        channel.closeFuture.whenComplete { _ in timer.cancel() }
        let negotiation = ApplicationProtocolNegotiationHandler { result, channel in
            timer.cancel()
            return channel.eventLoop.makeCompletedFuture {
                if case .negotiated("h2") = result {
                    try addHTTP2(to: channel, slot.value)
                } else {
                    try addHTTP1(to: channel, slot.value)
                }
            }
        }
        try channel.pipeline.syncOperations.addHandlers([NIOSSLServerHandler(context: tls), negotiation])
    }

    private func addHTTP1(to channel: any Channel, _ slot: ConnectionSlot) throws {
        try HTTP1Codec.add(to: channel, limits)
        let handler = RequestHandler(Request.Connection(channel), limits, slot: slot, respond: respond)
        try channel.pipeline.syncOperations.addHandler(handler)
    }

    private func addHTTP2(to channel: any Channel, _ slot: ConnectionSlot) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(NIOHTTP2Handler(mode: .server))
        // Closes idle connections, and on shutdown each connection after its last stream.
        let management = NIOHTTP2ServerConnectionManagementHandler(
            eventLoop: channel.eventLoop,
            configuration: .init(
                maxIdleTime: TimeAmount(limits.idleTimeout),
                maxAge: nil,
                maxGraceTime: TimeAmount(limits.requestDeadline),
                keepalive: nil
            )
        )
        try pipeline.addHandler(management)
        // The channel was active before the handshake, so this handler missed the event.
        management.channelActive(context: try pipeline.context(handler: management))
        let connection = Request.Connection(channel)
        let slot = NIOLoopBound(slot, eventLoop: channel.eventLoop)
        let multiplexer = HTTP2StreamMultiplexer(mode: .server, channel: channel) { [limits, respond] stream in
            stream.eventLoop.makeCompletedFuture {
                let handler = RequestHandler(connection, limits, slot: slot.value, isStream: true, respond: respond)
                try stream.pipeline.syncOperations.addHandlers([HTTP2StreamCodec(limits), handler])
            }
        }
        try pipeline.addHandler(multiplexer)
    }
}

package struct ListenFailure: Error {
    package let port: Int
    package let cause: any Error
}

/// Pauses accepting while the limit of open connections is reached.
private final class AcceptLimit: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel
    typealias OutboundIn = Never

    private let most: Int
    private var open = 0
    private var owesRead = false

    init(_ most: Int) { self.most = most }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        open += 1
        let this = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        unwrapInboundIn(data).closeFuture.hop(to: context.eventLoop).whenComplete { _ in
            let (handler, context) = this.value
            handler.open -= 1
            if handler.owesRead {
                handler.owesRead = false
                handler.read(context: context)
            }
        }
        context.fireChannelRead(data)
    }

    func read(context: ChannelHandlerContext) { if open < most { context.read() } else { owesRead = true } }
}
