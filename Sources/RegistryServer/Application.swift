import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import RegistryStore

/// Builds the HTTP server: what `pushreg serve` runs is what the tests call.
///
/// It runs as a service until shutdown; then it accepts no more connections and lets requests in flight finish. The
/// caller handles signals, and allows `insecureNoAuth` only on a loopback `host`.
///
/// - Parameters:
///   - logger: Logs each request at debug level, and internal errors.
///   - onServing: Called with the port once requests are accepted; the system chooses the port if it is 0.
///   - onServingAdmin: Called with the admin port, if there is one.
package func buildApplication(
    registry: Registry,
    configuration: ServerConfiguration,
    logger: Logger,
    onServing: @escaping @Sendable (_ port: Int) async -> Void = { _ in },
    onServingAdmin: @escaping @Sendable (_ port: Int) async -> Void = { _ in }
) -> some ApplicationProtocol {
    let metrics = ServiceMetrics(registry: registry, configuration: configuration)
    let journal = SweepJournal()
    let responder = RegistryResponder(
        registry: registry,
        configuration: configuration,
        logger: logger,
        metrics: metrics,
        sweeps: journal
    )
    var application = makeApplication(
        direct: responder,
        configuration: configuration,
        logger: logger,
        onServing: onServing
    )
    let (interval, factory) = (configuration.sweepInterval, metrics.factory)
    application.addServices(
        Sweeper(registry: registry, interval: interval, logger: logger, metrics: factory, journal: journal),
        MemoryReturn()
    )
    if configuration.adminPort != nil {
        application.addServices(
            AdminServer(registry, configuration, metrics: metrics, logger: logger, onServing: onServingAdmin)
        )
    }
    return application
}

/// Serves a responder that answers hot calls in the pipelines of connections and streams, and all others behind them.
func makeApplication(
    direct responder: RegistryResponder,
    configuration: ServerConfiguration,
    logger: Logger,
    onServing: @escaping @Sendable (_ port: Int) async -> Void = { _ in }
) -> Application<RegistryResponder> {
    makeApplication(
        responder: responder,
        direct: responder,
        configuration: configuration,
        logger: logger,
        onServing: onServing
    )
}

/// Puts a responder behind the connections that the service serves, with their limits.
///
/// - Parameters:
///   - direct: Answers hot calls in the pipelines of connections and streams; nil leaves all to `responder`.
///   - local: The addresses of this machine, which may have any number of connections, as the trusted proxies may.
func makeApplication<Responder: HTTPResponder<ConnectionContext>>(
    responder: Responder,
    direct: RegistryResponder? = nil,
    configuration: ServerConfiguration,
    local: [AddressRange] = IPAddress.loopback,
    logger: Logger,
    onServing: @escaping @Sendable (_ port: Int) async -> Void = { _ in }
) -> Application<Responder> {
    let limits = configuration.limits
    let count = ConnectionCount(limits, trusted: local + configuration.trustedProxies, logger: logger)
    let mostAccepted = limits.connections + ServerConfiguration.Limits.evictionHeadroom
    return Application(
        responder: responder,
        server: makeServer(configuration, direct: direct, count: count),
        configuration: ApplicationConfiguration(
            address: .hostname(configuration.host, port: configuration.port),
            backlog: limits.backlog,
            availableConnectionsDelegate: .maximum(mostAccepted, logger: logger)
        ),
        onServerRunning: { channel in
            // By default NIO accepts 4 connections per turn of the event loop. Under load turns are long, and the kernel's
            // queue would fill up.
            try? await channel.setOption(.maxMessagesPerRead, value: 256).get()
            await onServing(channel.localAddress?.port ?? configuration.port)
        },
        logger: logger
    )
}

private func makeServer(
    _ configuration: ServerConfiguration,
    direct: RegistryResponder?,
    count: ConnectionCount
) -> HTTPServerBuilder {
    let connections = HTTP1Channel.Configuration(configuration.limits)
    return HTTPServerBuilder { responder in
        guard let identity = configuration.tls else {
            let channel = HTTP1Channel(responder: responder, configuration: connections)
            return CountedChannel(base: EventLoopChannel(base: channel, direct: direct), count: count)
        }
        let channel = try SecureChannel(
            identity,
            configuration.limits,
            connections,
            direct: direct,
            responder: responder
        )
        return CountedChannel(base: EventLoopChannel(base: channel), count: count)
    }
}

extension HTTP1Channel.Configuration {
    fileprivate init(_ limits: ServerConfiguration.Limits) {
        self.init(
            additionalChannelHandlers: [ConnectionGuard(limits)],
            idleTimeout: TimeAmount(limits.idleTimeout),
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: limits.headerField,
                maxHeaderListSize: limits.header,
                maxHeaderFieldCount: limits.headerFields
            )
        )
    }
}
