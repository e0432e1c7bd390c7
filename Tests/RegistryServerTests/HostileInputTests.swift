import HTTPTypes
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL
import PostgresDriver
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct HostileInputTests {
    private static let path = "/v1/apps/com.example.food/sandbox/activities/a-1"
    private static let host = "Host: localhost\r\n"

    private static func put(_ body: [UInt8], type: String = "application/json") -> [UInt8] {
        let fields = "\(host)Content-Type: \(type)\r\nContent-Length: \(body.count)\r\nConnection: close\r\n\r\n"
        return Array("PUT \(path) HTTP/1.1\r\n\(fields)".utf8) + body
    }

    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    private static func get(_ path: String, _ fields: String = "", isLast: Bool = true) -> [UInt8] {
        bytes("GET \(path) HTTP/1.1\r\n\(host)\(fields)\(isLast ? "Connection: close\r\n" : "")\r\n")
    }

    private static func head(_ fields: String, _ body: String) -> [UInt8] {
        bytes("PUT \(path) HTTP/1.1\r\n\(host)\(fields)\r\n\r\n\(body)")
    }

    private static func many(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    static let inputs: [(name: String, bytes: [UInt8])] = [
        ("100,000 header lines", get("/livez", (0..<100_000).map { "X-\($0): y\r\n" }.joined())),
        ("a header of a megabyte", get("/livez", "X: \(many("y", 1 << 20))\r\n")),
        ("a path of a megabyte", get("/" + many("y", 1 << 20))), ("a path of escapes", get("/" + many("%41/", 15_000))),
        ("a query of escapes", get("/livez?" + many("a=%41&", 12_000))),
        ("arrays 30,000 deep", put(bytes(many("[", 30_000) + many("]", 30_000)))),
        ("objects 10,000 deep", put(bytes(many(#"{"a":"#, 10_000)))),
        ("a body that is no UTF-8", put(bytes(#"{"token":""#) + [0xFF, 0xFE, 0xC0, 0x80] + bytes(#""}"#))),
        ("a path that is no UTF-8", bytes("GET /") + [0xFF, 0xFE] + get("").dropFirst(4)),
        ("a header that is no UTF-8", get("/livez", "X: ", isLast: false).dropLast(2) + [0xFF, 0xC0] + closing),
        ("NUL bytes", get("/\0", "X: \0\r\n", isLast: false)),
        ("a bare line feed", bytes("GET /livez HTTP/1.1\nHost: localhost\nConnection: close\n\n")),
        ("two lengths", head("Content-Length: 2\r\nContent-Length: 40", "{}")),
        ("length and chunks", head("Content-Length: 4\r\nTransfer-Encoding: chunked", "0\r\n\r\n")),
        ("a negative length", head("Content-Length: -1", "{}")),
        ("a chunk without end", head("Transfer-Encoding: chunked", "FFFFFFFFFFFFFFFFF\r\n{")),
        ("HTTP/2 without TLS", bytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + [0, 0, 0, 4, 0, 0, 0, 0, 0]),
        (
            "a TLS hello",
            [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC, 0x03, 0x03] + [UInt8](repeating: 7, count: 600)
        ),
        (
            "an upgrade",
            get("/livez", "Connection: Upgrade, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n", isLast: false)
        ),
        ("a version that there is not", bytes("GET /livez HTTP/9.9\r\n\(host)\r\n")),
        ("no version", bytes("GET /livez\r\n\r\n")),
        ("CONNECT", bytes("CONNECT evil.example:443 HTTP/1.1\r\n\(host)Connection: close\r\n\r\n")),
        ("an absolute target", get("http://evil.example/livez")),
        ("500 pipelined requests", bytes(many("GET /none HTTP/1.1\r\n\(host)\r\n", 499)) + get("/none")),
        ("a smuggled request", put(bytes("{}GET /livez HTTP/1.1\r\n\(host)\r\n"))),
        ("noise", (0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }),
    ]

    private static let closing = bytes("\r\nConnection: close\r\n\r\n")

    private static func impatient(_ time: Duration) -> ServiceTrait {
        .service { ($0.limits.requestDeadline, $0.limits.idleTimeout) = (time, time) }
    }

    @Test(.shared(impatient(.seconds(1))), arguments: inputs.indices)
    func `Hostile input gets a response or an end`(index: Int) async throws {
        let (name, bytes) = Self.inputs[index]
        let connection = try RawConnection(port: server.port)
        connection.send(bytes)
        let answer = await connection.read()
        let statuses = answer.matches(of: #/HTTP/1\.1 (\d)\d\d /#).map { String($0.output.1) }
        #expect(!statuses.contains("5"), "\(name): \(answer.prefix(300))")
        #expect(answer.isEmpty || !statuses.isEmpty, "\(name): \(answer.prefix(300))")
        if name.hasPrefix("500") { #expect(statuses.count == 500) }
        try await Self.goesOn()
    }

    @Test(impatient(.milliseconds(500)))
    func `A request that stops at any byte changes nothing and blocks nothing`() async throws {
        let whole = Self.put(Self.bytes(#"{"token":"00ff"}"#))
        try await concurrently(1..<whole.count) { count in
            let connection = try RawConnection(port: server.port)
            connection.send(Array(whole.prefix(count)))
            let answer = await connection.read()
            #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 4"), "\(answer)")
        }
        try await Self.goesOn()
        // Valid calls need a service with long deadlines.
        try await ServiceTrait.service.run(on: server.registry) { patient in
            let reply = try await patient.call(.get, "…/activities/a-1")
            #expect(reply.problem == "activity-not-found")
        }
    }

    /// Expects a response from the service. Tries again, because the short deadline may pass first.
    private static func goesOn() async throws {
        try await until { (try? await server.call(.get, "/livez").status) == 200 }
    }
}

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

/// An HTTP/2 client over TLS that sends any frames, including invalid ones.
private struct FrameConnection: Sendable {
    typealias Frames = NIOAsyncChannel<HTTP2Frame, HTTP2Frame>

    enum End: Equatable {
        case answer(status: String, body: String)
        case reset(NIOHTTP2.HTTP2ErrorCode)
        case connection
    }

    private let outbound: NIOAsyncChannelOutboundWriter<HTTP2Frame>
    private let inbound: AsyncStream<HTTP2Frame>

    static func open(
        port: Int,
        settings: HTTP2Settings = nioDefaultSettings,
        _ test: @Sendable (FrameConnection) async throws -> Void
    ) async throws {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .none
        configuration.applicationProtocols = ["h2"]
        let context = try NIOSSLContext(configuration: configuration)
        let bootstrap = ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        let channel = try await bootstrap.connect(host: "127.0.0.1", port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: nil))
                // Allows bodies of other lengths than declared.
                try pipeline.addHandler(
                    NIOHTTP2Handler(mode: .client, initialSettings: settings, contentLengthValidation: .disabled)
                )
                return try Frames(wrappingChannelSynchronously: channel)
            }
        }
        try await channel.executeThenClose { inbound, outbound in
            // The channel's own stream allows only one reader.
            let (frames, continuation) = AsyncStream.makeStream(of: HTTP2Frame.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    defer { continuation.finish() }
                    for try await frame in inbound { continuation.yield(frame) }
                }
                try await test(FrameConnection(outbound: outbound, inbound: frames))
                group.cancelAll()
            }
        }
    }

    func send(_ id: HTTP2StreamID, _ method: String, _ path: String, length: Int? = nil, isLast: Bool) async throws {
        var fields: HPACKHeaders = [
            ":method": method, ":scheme": "https", ":authority": "localhost", ":path": path,
            "accept": "application/json",
        ]
        if let length {
            fields.add(name: "content-type", value: "application/json")
            fields.add(name: "content-length", value: String(length))
        }
        try await send(id, .headers(.init(headers: fields, endStream: isLast)))
    }

    func send(_ id: HTTP2StreamID, _ text: String, isLast: Bool) async throws {
        try await send(id, .data(.init(data: .byteBuffer(ByteBuffer(string: text)), endStream: isLast)))
    }

    func send(_ id: HTTP2StreamID, _ payload: HTTP2Frame.FramePayload) async throws {
        try await outbound.write(HTTP2Frame(streamID: id, payload: payload))
    }

    /// - Returns: how each stream ended. A reset after the start of a response counts as a reset.
    func ends(_ count: Int) async throws -> [HTTP2StreamID: End] {
        var ends: [HTTP2StreamID: End] = [:]
        var answers: [HTTP2StreamID: (status: String, body: String)] = [:]
        for await frame in inbound {
            let id = frame.streamID
            switch frame.payload {
            case .headers(let part): answers[id] = (part.headers.first(name: ":status") ?? "", "")
            case .data(let part):
                if case .byteBuffer(let bytes) = part.data { answers[id]?.body += String(buffer: bytes) }
                if part.endStream, let answer = answers[id] {
                    ends[id] = .answer(status: answer.status, body: answer.body)
                }
            case .rstStream(let code): if ends[id] == nil { ends[id] = .reset(code) }
            default: break
            }
            if ends.count == count { return ends }
        }
        ends[0] = .connection
        return ends
    }
}
