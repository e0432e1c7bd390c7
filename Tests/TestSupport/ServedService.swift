import ServiceLifecycle

/// Runs a server on a local port during the closure.
///
/// - Parameter make: makes the server, which must call the closure with its port when it accepts connections.
package func serve<Value>(
    _ make: (_ onServing: @escaping @Sendable (_ port: Int) async -> Void) throws -> any Service,
    _ body: (_ port: Int) async throws -> Value
) async throws -> Value {
    let (ports, serving) = AsyncStream.makeStream(of: Int.self)
    let server = try make { serving.yield($0) }
    var configuration = ServiceGroupConfiguration(services: [server], logger: .silent)
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
    return try await perform {
        try await body(port)
    } andThen: {
        await group.triggerGracefulShutdown()
        try await running.value
    }
}
