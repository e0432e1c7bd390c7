import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle

extension ApplicationProtocol {
    /// Serves on a free port of this machine during the closure, which gets the port.
    ///
    /// The address is IPv4's by default because "localhost", at which HummingbirdTesting's server listens, is ::1 on
    /// many machines, where ``RawConnection`` does not connect. Unlike that server, this one is not cancelled when a
    /// test fails: NIO traps on accepted connections that are never served, and all other tests of the process would be
    /// lost.
    package func serve<Value>(
        on host: String = "127.0.0.1",
        _ body: (_ port: Int) async throws -> Value
    ) async throws -> Value {
        let (ports, serving) = AsyncStream.makeStream(of: Int.self)
        let application = ServedApplication(base: self, host: host, serving: serving)
        var configuration = ServiceGroupConfiguration(services: [application], logger: logger)
        // A failed test may leave an unfinished request.
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
