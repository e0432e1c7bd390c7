import AsyncHTTPClient
import Foundation
import HTTPTypes
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct TLSTests {
    /// A certificate and its key in a directory that lives as long as this object.
    final class Files: Sendable {
        let directory = "/tmp/pushreg-tls-\(UUID().uuidString.prefix(8))"
        var certificate: String { directory + "/cert.pem" }
        var key: String { directory + "/key.pem" }

        init(name: String = "one", isRSA: Bool = false) throws {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try renew(name, isRSA: isRSA)
        }

        func renew(_ name: String, isRSA: Bool = false) throws {
            let kind = isRSA ? ["rsa:2048"] : ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
            process.arguments =
                ["req", "-x509", "-newkey"] + kind + [
                    "-nodes", "-days", "2", "-subj", "/CN=\(name)", "-addext", "subjectAltName=DNS:localhost",
                    "-keyout", key, "-out", certificate,
                ]
            process.standardError = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            try #require(process.terminationStatus == 0)
        }

        func copyCertificate(of other: Files) throws {
            try Data(contentsOf: URL(fileURLWithPath: other.certificate)).write(to: URL(fileURLWithPath: certificate))
        }

        deinit { try? FileManager.default.removeItem(atPath: directory) }
    }

    static func run<Value>(
        _ files: Files,
        on database: TestDatabase? = nil,
        limits: ServerConfiguration.Limits = ServerConfiguration.Limits(),
        logger: Logger = .silent,
        _ test: (Int) async throws -> Value
    ) async throws -> Value {
        let registry = if let database { database.registry } else { try await TestDatabase.withScope().0.registry }
        var configuration = ServerConfiguration(port: 0, insecureNoAuth: true)
        configuration.limits = limits
        configuration.tls = try TLSIdentity(certificate: files.certificate, key: files.key, logger: logger)
        let responder = RegistryResponder(registry: registry, configuration: configuration, logger: .silent)
        return try await Listener.run(configuration, responder.respond, test)
    }

    /// Runs the service and a client that trusts it; by default with HTTP/2.
    static func withClient<Value: Sendable>(
        _ version: HTTPClient.Configuration.HTTPVersion = .automatic,
        _ test: (HTTPClient, Int) async throws -> Value
    ) async throws -> Value {
        let files = try Files()
        return try await run(files) { port in
            try await call(version, trusting: files) { try await test($0, port) }
        }
    }

    /// A new client performs a new handshake.
    static func call<Value: Sendable>(
        _ version: HTTPClient.Configuration.HTTPVersion,
        trusting files: Files,
        _ body: (HTTPClient) async throws -> Value
    ) async throws -> Value {
        var configuration = HTTPClient.Configuration()
        configuration.httpVersion = version
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(files.certificate)
        configuration.tlsConfiguration = tls
        configuration.connectionPool.retryConnectionEstablishment = false
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        do {
            let value = try await body(client)
            try await client.shutdown()
            return value
        } catch {
            try await client.shutdown()
            throw error
        }
    }

    private static func put(_ port: Int, _ body: HTTPClientRequest.Body) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: "https://localhost:\(port)/v1/apps/com.example.food/sandbox/activities/a")
        request.method = .PUT
        request.headers.add(name: "Content-Type", value: "application/json")
        request.body = body
        return request
    }

    @Test(arguments: [HTTPClient.Configuration.HTTPVersion.http1Only, .automatic])
    func `HTTP 1.1 and HTTP 2 are served over TLS`(_ version: HTTPClient.Configuration.HTTPVersion) async throws {
        try await Self.withClient(version) { client, port in
            let body = ByteBuffer(string: #"{"token":"00ff"}"#)
            for status: UInt in [201, 200] {
                let answer = try await client.execute(Self.put(port, .bytes(body)), timeout: .seconds(10))
                #expect(answer.status.code == status)
                #expect(answer.version == (version == .http1Only ? .http1_1 : .http2))
            }
            // A refusal that closes an HTTP/1.1 connection but not an HTTP/2 connection.
            let large = ByteBuffer(repeating: 0x20, count: 100_000)
            let refused = try await client.execute(Self.put(port, .bytes(large)), timeout: .seconds(10))
            #expect(refused.status == .payloadTooLarge)
            #expect(refused.headers["Connection"].isEmpty == (version != .http1Only))
            #expect(await Self.isServed(by: client, port))
        }
    }

    @Test func `A handshake that never arrives ends the connection`() async throws {
        var limits = ServerConfiguration.Limits()
        limits.requestDeadline = .milliseconds(300)
        try await Self.run(try Files(), limits: limits) { port in
            for opening: [UInt8] in [
                [], [0x16, 0x03, 0x01], Array("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8),
            ] {
                let connection = try RawConnection(port: port)
                connection.send(opening)
                let answer = await connection.read()
                #expect(!answer.contains("HTTP/1.1 200"))
            }
        }
    }

    @Test func `A renewed certificate is loaded`() async throws {
        let (files, copy) = (try Files(), try Files())
        let log = RecordedLog()
        try copy.copyCertificate(of: files)
        try await Self.run(files, logger: log.logger) { port in
            try await Self.call(.automatic, trusting: copy) { open in
                #expect(await Self.isServed(by: open, port))
                try files.renew("two")
                #expect(await Self.isServed(files, port))
                #expect(await !Self.isServed(copy, port))
                #expect(log.text.contains("was reloaded") && !log.text.contains("cannot be used"))
                // An open connection stays open, although its client does not trust the new certificate.
                #expect(await Self.isServed(by: open, port))
                try Data("-----BEGIN CERTIFICATE-----\n".utf8).write(to: URL(fileURLWithPath: files.key))
                #expect(await Self.isServed(files, port))
                #expect(log.text.contains("previous certificate stays in use: \(files.key) has no private key"))
                try copy.renew("three")
                try Data(contentsOf: URL(fileURLWithPath: copy.key)).write(to: URL(fileURLWithPath: files.key))
                #expect(await Self.isServed(files, port))
                #expect(log.text.contains("does not match the certificate"))
                #expect(await Self.isServed(by: open, port))
            }
        }
    }

    private static func isServed(_ trusting: Files, _ port: Int) async -> Bool {
        (try? await call(.automatic, trusting: trusting) { await isServed(by: $0, port) }) ?? false
    }

    private static func isServed(by client: HTTPClient, _ port: Int) async -> Bool {
        let request = HTTPClientRequest(url: "https://localhost:\(port)/livez")
        return (try? await client.execute(request, timeout: .seconds(10)).status) == .ok
    }

    /// For TLS 1.2, only suites with forward secrecy and authenticated encryption.
    @Test func `Old cipher suites are refused`() async throws {
        try await Self.run(try Files(isRSA: true)) { port in
            let old = [
                "AES128-SHA", "AES128-GCM-SHA256", "AES256-GCM-SHA384", "ECDHE-RSA-AES128-SHA", "ECDHE-RSA-AES256-SHA",
                "ECDHE-RSA-AES128-SHA256",
            ]
            let new = ["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-CHACHA20-POLY1305"]
            for suite in old + new {
                let accepted = try await OpenSSLClient.handshake(suite, port: port)
                #expect(accepted == (new.contains(suite) ? suite : nil), "\(suite)")
            }
        }
    }

    @Test func `A certificate and a key that do not match are refused`() throws {
        let (one, two) = (try Files(), try Files())
        for (certificate, key) in [
            (one.certificate, two.key), (one.key, one.key), (one.certificate, "/nonexistent"),
        ] {
            #expect(throws: TLSIdentity.Failure.self) {
                try TLSIdentity(certificate: certificate, key: key, logger: .silent)
            }
        }
    }
}
