import Foundation
import NIOCore
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization
import TestSupport

/// A local server that answers as APNs does: ``APNsModel`` behind HTTP/2 over TLS.
package final class APNsStandIn: Sendable {
    /// The key that signs senders' JWTs; ``keyFile`` is its `.p8` file.
    package let key: ProviderKey
    package let clock: APNsClock
    private let certificate: TestCertificate
    package var certificateFile: String { certificate.certificate }
    package var keyFile: String { certificate.directory + "/AuthKey.p8" }

    private struct State: Sendable {
        var model: APNsModel
        var faults = Faults()
        var requests = 0
        var connections = 0
        var port = 0
    }

    private let state: Mutex<State>
    private let onStart: @Sendable (ShownActivity) -> Void

    private init(_ clock: APNsClock, _ onStart: @escaping @Sendable (ShownActivity) -> Void) async throws {
        key = ProviderKey()
        certificate = try await TestCertificate()
        self.clock = clock
        self.onStart = onStart
        state = Mutex(State(model: APNsModel(key: key)))
        try key.pem.write(toFile: keyFile, atomically: true, encoding: .utf8)
    }

    /// Serves until the closure returns.
    ///
    /// - Parameter onStart: called with each activity that a start push began on a phone. An app would register its
    ///   token now: the test adds a token to the model and registers it.
    package static func run<Value>(
        clock: APNsClock = APNsClock(),
        onStart: @escaping @Sendable (ShownActivity) -> Void = { _ in },
        _ body: (APNsStandIn) async throws -> Value
    ) async throws -> Value {
        let standIn = try await APNsStandIn(clock, onStart)
        let channel = try await standIn.bind()
        standIn.state.withLock { $0.port = channel.localAddress?.port ?? 0 }
        let outcome: Result<Value, any Error>
        do { outcome = .success(try await body(standIn)) } catch { outcome = .failure(error) }
        try await channel.close()
        return try outcome.get()
    }

    /// For example `https://127.0.0.1:40123`.
    package var address: String { "https://127.0.0.1:\(state.withLock { $0.port })" }
    package var model: APNsModel { state.withLock { $0.model } }

    /// Reads the model without copying it.
    package func read<Value: Sendable>(_ body: @Sendable (APNsModel) -> Value) -> Value {
        state.withLock { body($0.model) }
    }

    package var connections: Int { state.withLock { $0.connections } }

    package func change<Value: Sendable>(_ body: @Sendable (inout APNsModel) -> Value) -> Value {
        state.withLock { body(&$0.model) }
    }

    package func setFaults(_ body: @Sendable (inout Faults) -> Void) { state.withLock { body(&$0.faults) } }

    package func connect(_ phone: String) {
        let now = clock.now
        for activity in change({ $0.connect(phone, at: now) }) { onStart(activity) }
    }

    /// The response to a request, and its effect on the connection.
    func receive(_ request: PushRequest) -> (answer: PushResponse, delay: Duration, isReset: Bool) {
        let now = clock.now
        let (outcome, faults, number) = state.withLock { state in
            state.requests += 1
            if let answer = state.faults.answer(state.requests) {
                state.model.record(request, request.aps, answer, now)
                return ((answer: answer, started: ShownActivity?.none), state.faults, state.requests)
            }
            return (state.model.receive(request, at: now), state.faults, state.requests)
        }
        if let started = outcome.started { onStart(started) }
        let isReset = faults.resets(number) && outcome.answer.status == 200
        return (outcome.answer, faults.answerDelay, isReset)
    }

    var goAwayAfter: Int? { state.withLock { $0.faults.goAwayAfter } }
}

extension APNsStandIn {
    private func bind() async throws -> any Channel {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(certificate.certificate).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: certificate.key, format: .pem))
        )
        configuration.applicationProtocols = ["h2"]
        let context = try NIOSSLContext(configuration: configuration)
        return try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try self.configure(channel, context) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    private func configure(_ channel: any Channel, _ context: NIOSSLContext) throws {
        state.withLock { $0.connections += 1 }
        let connection = NIOLoopBound(APNsConnection(channel), eventLoop: channel.eventLoop)
        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
        _ = try channel.pipeline.syncOperations.configureHTTP2Pipeline(
            mode: .server,
            connectionConfiguration: .init(),
            streamConfiguration: .init()
        ) { stream in
            stream.eventLoop.makeCompletedFuture {
                let operations = stream.pipeline.syncOperations
                try operations.addHandler(HTTP2FramePayloadToHTTP1ServerCodec())
                try operations.addHandler(PushStream(self, connection.value, stream))
            }
        }
    }
}

/// Faults of connections and responses. Each counts all requests from 1.
package struct Faults: Sendable {
    /// A connection gets GOAWAY and is closed after this number of requests.
    package var goAwayAfter: Int?
    /// The delay before each response.
    package var answerDelay: Duration = .zero
    /// Every n-th request has its connection reset before the response, if APNs accepted the push.
    package var resetEvery: Int?
    /// Every n-th request gets 503 and is not accepted.
    package var unavailableEvery: Int?
    /// Every n-th request gets 429 and is not accepted.
    package var tooManyEvery: Int?

    package init() {}

    /// The response to the n-th request if a fault prevents its handling.
    func answer(_ number: Int) -> PushResponse? {
        if Self.isTurn(unavailableEvery, number) { return PushResponse(503, "ServiceUnavailable") }
        return Self.isTurn(tooManyEvery, number) ? PushResponse(429, "TooManyRequests") : nil
    }

    func resets(_ number: Int) -> Bool { Self.isTurn(resetEvery, number) }
    private static func isTurn(_ every: Int?, _ number: Int) -> Bool { every.map { number % $0 == 0 } ?? false }
}

/// A clock that can run faster than the machine's, so that a test plays an hour in a minute.
package struct APNsClock: Sendable {
    /// At this time, this clock and the machine's clock are equal.
    package let start: Date
    /// Seconds of this clock per second of the machine's clock.
    package let speed: Double

    package init(start: Date = Date(), speed: Double = 1) {
        self.start = start
        self.speed = speed
    }

    package var now: Date { shown(at: Date()) }
    package func shown(at real: Date) -> Date { start.addingTimeInterval(real.timeIntervalSince(start) * speed) }

    /// Converts seconds of this clock to a duration of the machine's clock.
    package func pause(seconds: Double) -> Duration { .seconds(seconds / speed) }
}
