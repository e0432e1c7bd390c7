import AsyncHTTPClient
import Foundation
import HTTPTypes
import Logging
import NIOCore
import NIOHTTP1
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

/// Limits of connections over real sockets.
///
/// All of 127.0.0.0/8 is this machine, so most of these tests treat it like other addresses.
@Suite(.timeLimit(.minutes(15))) struct ConnectionLimitTests {
    private static let request = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"

    /// The methods of requests with a complete header.
    private typealias Heads = AsyncStream<HTTPRequest.Method>

    /// Runs a service that answers 204 after the complete body.
    private static func run(
        local: [AddressRange] = [],
        configuration: ServerConfiguration = ServerConfiguration(port: 0),
        connections: Int? = nil,
        ofAddress: Int? = nil,
        logger: Logger = .silent,
        _ test: (_ port: Int, _ heads: Heads) async throws -> Void
    ) async throws {
        let (heads, arrived) = AsyncStream.makeStream(of: HTTPRequest.Method.self)
        var configuration = configuration
        // No connection may be idle for too long, and no half-sent body too late, on a slow machine.
        (configuration.limits.requestDeadline, configuration.limits.idleTimeout) = (.seconds(600), .seconds(600))
        configuration.limits.connections = connections ?? configuration.limits.connections
        configuration.limits.addressConnections = ofAddress ?? configuration.limits.addressConnections
        let respond: RequestHandler.Respond = { request in
            arrived.yield(request.method)
            do { while try await request.body.next() != nil {} } catch { return nil }
            return .noContent
        }
        try await Listener.run(configuration, local: local, logger: logger, respond) { port in
            try await test(port, heads)
        }
    }

    /// Sends a request with half of its body.
    private static func beginPut(_ connection: RawConnection, _ heads: Heads) async {
        connection.send("PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{")
        _ = await heads.first { $0 == .put }
    }

    private static func isServed(_ connection: RawConnection) async -> Bool {
        connection.send(request)
        return await connection.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 204 ")
    }

    private static func numberServed(of connections: some Sequence<RawConnection>) async throws -> Int {
        var served = 0
        for connection in connections where await isServed(connection) { served += 1 }
        return served
    }

    private static func open(_ port: Int, from source: UInt8 = 1) async throws -> RawConnection {
        let connection = try RawConnection(port: port, from: source)
        try #require(await isServed(connection))
        return connection
    }

    /// Opens a connection once one is free, because a response's end is written shortly after its header.
    private static func openAtLast(_ port: Int, from source: UInt8 = 1) async throws -> RawConnection {
        while true {
            let connection = try RawConnection(port: port, from: source)
            if await isServed(connection) { return connection }
        }
    }

    private static func descriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }

    /// The number of connections that the test holds. Each uses two files, and a login shell may allow 1024.
    private static func mostHeld() throws -> Int {
        var limit = rlimit()
        try #require(getrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit) == 0)
        return Int(min(1000, limit.rlim_cur / 4))
    }

    @Test func `A connection beyond the limit is closed`() async throws {
        let log = RecordedLog()
        let most = try Self.mostHeld()
        try await Self.run(ofAddress: most, logger: log.logger) { port, _ in
            var held: [RawConnection] = []
            for _ in 0..<most { held.append(try await Self.open(port)) }
            let before = try Self.descriptors()
            for number in 0..<5001 {
                let connection = try RawConnection(port: port)
                try #require(await connection.read().isEmpty)
                if number.isMultiple(of: 500) { #expect(try await Self.isServed(Self.open(port, from: 2))) }
            }
            // Other tests also open connections, and close them again.
            try await until(.seconds(30)) { try Self.descriptors() < before + 500 }
            #expect(await Self.isServed(held[0]))
            #expect(await Self.isServed(held[most - 1]))
            held[most / 2].reset()
            _ = try await Self.openAtLast(port)
            #expect(log.text.components(separatedBy: "connections are refused").count == 2)
            #expect(log.text.contains("127.0.0.1"))
        }
    }

    @Test func `A caller with many connections does not block other callers`() async throws {
        try await Self.run(connections: 8, ofAddress: 8) { port, heads in
            var held: [RawConnection] = []
            for _ in 0..<8 { held.append(try await Self.open(port)) }
            // The first is busy; the second is idle for a shorter time than the others.
            await Self.beginPut(held[0], heads)
            #expect(await Self.isServed(held[1]))
            let others = [try await Self.open(port, from: 2), try await Self.open(port, from: 3)]
            #expect(await Self.isServed(held[1]))
            // Two of the others are closed. An event loop can be late to mark a connection as idle, so any two can be.
            try await until(.seconds(60)) { try await Self.numberServed(of: held[2...]) == 4 }
            held[0].send("}")
            #expect(await held[0].read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 204 "))
            #expect(await Self.isServed(others[0]))
            #expect(await Self.isServed(others[1]))
        }
    }

    @Test func `Work of trusted addresses is not dropped`() async throws {
        try await Self.run(local: IPAddress.loopback, connections: 1) { port, heads in
            let busy = try await Self.open(port)
            await Self.beginPut(busy, heads)
            for _ in 0..<10 { #expect(try await RawConnection(port: port).read().isEmpty) }
            busy.send("}")
            #expect(await busy.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 204 "))
            let next = try await Self.openAtLast(port)
            #expect(await busy.read().isEmpty)
            for _ in 0..<60 { _ = try await Self.openAtLast(port, from: 2) }
            #expect(await next.read().isEmpty)
        }
    }

    @Test func `Streams keep their connection busy`() async throws {
        let files = try await TestCertificate()
        var configuration = ServerConfiguration(port: 0)
        configuration.tls = try TLSIdentity(certificate: files.certificate, key: files.key, logger: .silent)
        try await Self.run(local: IPAddress.loopback, configuration: configuration, connections: 1) { port, heads in
            try await TLSTests.call(.automatic, trusting: files) { client in
                var request = HTTPClientRequest(url: "https://localhost:\(port)/")
                #expect(try await client.execute(request, timeout: .seconds(10)).version == .http2)
                let (parts, body) = AsyncStream.makeStream(of: ByteBuffer.self)
                request.method = .PUT
                request.body = .stream(parts, length: .known(Int64(2)))
                body.yield(ByteBuffer(string: "{"))
                async let answer = client.execute(request, timeout: .seconds(60))
                _ = await heads.first { $0 == .put }
                for _ in 0..<10 { #expect(try await RawConnection(port: port).read().isEmpty) }
                body.yield(ByteBuffer(string: "}"))
                body.finish()
                #expect(try await answer.status == .noContent)
                // It is idle now and closed at once, although its peer could send more.
                let again = HTTPClientRequest(url: "https://localhost:\(port)/")
                let status = try await TLSTests.call(.automatic, trusting: files) {
                    try await $0.execute(again, timeout: .seconds(10)).status
                }
                #expect(status == .noContent)
            }
        }
    }

    @Test func `The admin port has few connections, and trusts no proxy`() throws {
        var service = ServerConfiguration(port: 1)
        (service.adminPort, service.trustedProxies) = (2, [try #require(AddressRange("127.0.0.0/8"))])
        let admin = service.ofAdminPort
        #expect(admin.port == 2)
        #expect(admin.limits.connections == 64)
        #expect(admin.limits.addressConnections == 16)
        #expect(admin.trustedProxies.isEmpty)
    }
}
