import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle

extension ApplicationProtocol {
    /// Serves on a free port of this machine until the closure, which gets the port, is done.
    ///
    /// The address is IPv4's unless told otherwise, for "localhost", at which HummingbirdTesting's server listens, is ::1 on many
    /// machines, where ``RawConnection`` does not connect. Nor is the server cancelled when a test fails, as that one is: NIO traps
    /// on connections that were accepted and are never served, and all other tests of the process would be lost.
    package func serve<Value>(
        on host: String = "127.0.0.1",
        _ body: (_ port: Int) async throws -> Value
    ) async throws -> Value {
        let (ports, serving) = AsyncStream.makeStream(of: Int.self)
        let application = ServedApplication(base: self, host: host, serving: serving)
        var configuration = ServiceGroupConfiguration(services: [application], logger: logger)
        // A failed test may leave a request that nobody ends.
        configuration.maximumGracefulShutdownDuration = .seconds(60)
        let group = ServiceGroup(configuration: configuration)
        let running = Task {
            defer { serving.finish() }
            try await group.run()
        }
        guard let port = await ports.first(where: { _ in true }) else {
            await group.triggerGracefulShutdown()
            try await running.value
            throw CancellationError()
        }
        let outcome: Result<Value, any Error>
        do { outcome = .success(try await body(port)) } catch { outcome = .failure(error) }
        await group.triggerGracefulShutdown()
        let end = await running.result
        let value = try outcome.get()
        try end.get()
        return value
    }
}

/// An application on a port that is found at its start.
private struct ServedApplication<Base: ApplicationProtocol>: ApplicationProtocol {
    let base: Base
    let host: String
    let serving: AsyncStream<Int>.Continuation

    var responder: Base.Responder { get async throws { try await base.responder } }
    var server: HTTPServerBuilder { base.server }
    var eventLoopGroup: any EventLoopGroup { base.eventLoopGroup }
    var logger: Logger { base.logger }
    var services: [any Service] { base.services }
    var processesRunBeforeServerStart: [@Sendable () async throws -> Void] { base.processesRunBeforeServerStart }

    var configuration: ApplicationConfiguration {
        var configuration = base.configuration
        configuration.address = .hostname(host, port: 0)
        return configuration
    }

    @Sendable func onServerRunning(_ channel: any Channel) async {
        await base.onServerRunning(channel)
        if let port = channel.localAddress?.port { serving.yield(port) }
    }
}
