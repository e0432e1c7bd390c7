import NIOCore
import NIOHPACK
import NIOHTTP2
import PostgresDriver
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(5))) struct StreamHostilityTests {
    private static let activity = PipeliningTests.path + "/activities/a"
    private static let resolve = PipeliningTests.path + "/aliases/orderId/o/activities"
    private static let body = #"{"token":"aa01"}"#

    private static func run(
        settings: HTTP2Settings = nioDefaultSettings,
        limits: ServerConfiguration.Limits = ServerConfiguration.Limits(),
        _ test: @escaping @Sendable (FrameConnection) async throws -> Void
    ) async throws {
        try await TLSTests.run(TestCertificate(), limits: limits) { port in
            try await FrameConnection.open(port: port, settings: settings, test)
        }
    }

    /// Expects a response, so the connection still works.
    private static func expectAnswer(_ connection: FrameConnection, _ id: HTTP2StreamID) async throws {
        try await connection.send(id, "GET", resolve, isLast: true)
        try await expectEnd(connection, id, "200")
    }

    private static func expectEnd(
        _ connection: FrameConnection,
        _ id: HTTP2StreamID,
        _ status: String,
        _ code: String = ""
    ) async throws {
        let ends = try await connection.ends(1)
        guard case .answer(status, let body) = ends[id], code.isEmpty || body.contains(code) else {
            Issue.record("\(ends)")
            return
        }
    }

    @Test func `A slow body gets a 408, and other streams continue`() async throws {
        var limits = ServerConfiguration.Limits()
        // Also the deadline of the TLS handshake.
        limits.requestDeadline = .seconds(3)
        try await Self.run(limits: limits) { connection in
            try await connection.send(1, "PUT", Self.activity, length: 100, isLast: false)
            try await connection.send(1, "{", isLast: false)
            try await Self.expectEnd(connection, 1, "408", "request-timeout")
            try await Self.expectAnswer(connection, 3)
        }
    }

    @Test(arguments: [10, 30])
    func `A body of another length than announced ends only its stream`(announced: Int) async throws {
        try await Self.run { connection in
            try await connection.send(1, "PUT", Self.activity, length: announced, isLast: false)
            try await connection.send(1, Self.body, isLast: true)
            #expect(try await connection.ends(1) == [1: .reset(.protocolError)])
            try await Self.expectAnswer(connection, 3)
            let count = try await database.count("SELECT count(*) FROM activities")
            #expect(count == 0)
        }
    }

    @Test func `Trailers end a request`() async throws {
        try await Self.run { connection in
            try await connection.send(1, "PUT", Self.activity, length: Self.body.utf8.count, isLast: false)
            try await connection.send(1, Self.body, isLast: false)
            try await connection.send(1, .headers(.init(headers: ["x-checksum": "1"], endStream: true)))
            try await Self.expectEnd(connection, 1, "201")
            try await Self.expectAnswer(connection, 3)
        }
    }

    @Test func `A call completes after its caller leaves, and other streams continue`() async throws {
        try await Self.run { connection in
            let held = try await HeldTransaction("LOCK TABLE activities", in: database)
            try await connection.send(1, "PUT", Self.activity, length: Self.body.utf8.count, isLast: false)
            try await connection.send(1, Self.body, isLast: true)
            try await held.waitUntilSomebodyWaits()
            try await connection.send(1, .rstStream(.cancel))
            // After the reset on the same connection, so the reset is processed when the lock is released.
            try await connection.send(3, "GET", "/livez", isLast: true)
            try await Self.expectEnd(connection, 3, "200")
            try await held.release()
            try await Self.expectAnswer(connection, 5)
            try await until { try await database.count("SELECT count(*) FROM activities") == 1 }
        }
    }

    @Test func `A reader that takes no response is disconnected in time, and other streams continue`() async throws {
        let none = [HTTP2Setting(parameter: .initialWindowSize, value: 0)]
        var limits = ServerConfiguration.Limits()
        limits.stalledReader = .milliseconds(300)
        try await Self.run(settings: none, limits: limits) { connection in
            try await connection.send(1, "GET", Self.resolve, isLast: true)
            #expect(try await connection.ends(1) == [1: .reset(.cancel)])
            try await connection.send(3, "GET", Self.resolve, isLast: true)
            try await connection.send(3, .windowUpdate(windowSizeIncrement: 65_535))
            try await Self.expectEnd(connection, 3, "200")
        }
    }
}
