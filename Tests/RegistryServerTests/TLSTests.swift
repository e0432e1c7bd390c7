import AsyncHTTPClient
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct TLSTests {
    static func run<Value>(
        _ files: TestCertificate,
        limits: ServerConfiguration.Limits = ServerConfiguration.Limits(),
        logger: Logger = .silent,
        _ test: (Int) async throws -> Value
    ) async throws -> Value {
        let tls = try TLSIdentity(certificate: files.certificate, key: files.key, logger: logger)
        return try await ServiceTrait.service { ($0.limits, $0.tls) = (limits, tls) }.run { try await test($0.port) }
    }

    /// Runs the service and a client that trusts it; by default with HTTP/2.
    static func withClient<Value: Sendable>(
        _ version: HTTPClient.Configuration.HTTPVersion = .automatic,
        _ test: (HTTPClient, Int) async throws -> Value
    ) async throws -> Value {
        let files = try await TestCertificate()
        var limits = ServerConfiguration.Limits()
        // A client on a slow machine may send a body long after its head.
        limits.requestDeadline = .seconds(60)
        return try await run(files, limits: limits) { port in
            try await call(version, trusting: files) { try await test($0, port) }
        }
    }

    /// A new client performs a new handshake.
    static func call<Value: Sendable>(
        _ version: HTTPClient.Configuration.HTTPVersion,
        trusting files: TestCertificate,
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

    @Test func `A handshake that never arrives ends the connection`() async throws {
        var limits = ServerConfiguration.Limits()
        limits.requestDeadline = .milliseconds(300)
        try await Self.run(TestCertificate(), limits: limits) { port in
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
        let (files, copy) = (try await TestCertificate(), try await TestCertificate())
        let log = RecordedLog()
        try FileManager.default.removeItem(atPath: copy.certificate)
        try FileManager.default.copyItem(atPath: files.certificate, toPath: copy.certificate)
        try await Self.run(files, logger: log.logger) { port in
            try await Self.call(.automatic, trusting: copy) { open in
                #expect(await Self.isServed(by: open, port))
                try await files.renew()
                #expect(await Self.isServed(files, port))
                #expect(await !Self.isServed(copy, port))
                #expect(log.text.contains("was reloaded") && !log.text.contains("cannot be used"))
                // An open connection stays open, although its client does not trust the new certificate.
                #expect(await Self.isServed(by: open, port))
                try Data("-----BEGIN CERTIFICATE-----\n".utf8).write(to: URL(fileURLWithPath: files.key))
                #expect(await Self.isServed(files, port))
                #expect(log.text.contains("previous certificate stays in use: \(files.key) has no private key"))
                try await copy.renew()
                try Data(contentsOf: URL(fileURLWithPath: copy.key)).write(to: URL(fileURLWithPath: files.key))
                #expect(await Self.isServed(files, port))
                #expect(log.text.contains("does not match the certificate"))
                #expect(await Self.isServed(by: open, port))
            }
        }
    }

    private static func isServed(_ trusting: TestCertificate, _ port: Int) async -> Bool {
        (try? await call(.automatic, trusting: trusting) { await isServed(by: $0, port) }) ?? false
    }

    static func isServed(by client: HTTPClient, _ port: Int) async -> Bool {
        let request = HTTPClientRequest(url: "https://localhost:\(port)/livez")
        return (try? await client.execute(request, timeout: .seconds(10)).status) == .ok
    }

    /// For TLS 1.2, only suites with forward secrecy and authenticated encryption.
    @Test func `Old cipher suites are refused`() async throws {
        try await Self.run(TestCertificate(isRSA: true)) { port in
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

    @Test func `A certificate and a key that do not match are refused`() async throws {
        let (one, two) = (try await TestCertificate(), try await TestCertificate())
        for (certificate, key) in [
            (one.certificate, two.key), (one.key, one.key), (one.certificate, "/nonexistent"),
        ] {
            #expect(throws: TLSIdentity.Failure.self) {
                try TLSIdentity(certificate: certificate, key: key, logger: .silent)
            }
        }
    }
}
