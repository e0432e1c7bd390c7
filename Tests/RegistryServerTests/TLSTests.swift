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
        return try await perform({ try await body(client) }, andThen: { try await client.shutdown() })
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
                #expect(await !connection.read().contains("HTTP/1.1 200"))
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
        for (certificate, key) in [(one.certificate, two.key), (one.key, one.key), (one.certificate, "/nonexistent")] {
            #expect(throws: TLSIdentity.Failure.self) {
                try TLSIdentity(certificate: certificate, key: key, logger: .silent)
            }
        }
    }
}

/// Calls `openssl s_client`, for options that no other client offers.
enum OpenSSLClient {
    /// Sends a text over TLS with HTTP/1.1, and returns everything until the service closes the connection.
    static func exchange(_ text: String, port: Int) async throws -> String {
        try await run("-quiet -alpn http/1.1", port, input: text)
    }

    /// The cipher suite of a TLS 1.2 handshake that offers only `suite`; nil if it fails.
    static func handshake(_ suite: String, port: Int) async throws -> String? {
        let text = try await run("-tls1_2 -cipher \(suite):@SECLEVEL=0", port)
        return text.firstMatch(of: /Cipher is ([A-Z0-9-]+)/).map { String($0.1) }
    }

    /// A failed handshake is a result.
    private static func run(_ options: String, _ port: Int, input: String = "") async throws -> String {
        let client = "openssl s_client \(options) -connect 127.0.0.1:\(port) 2>/dev/null"
        return try await Shell.run(#"printf %s "$input" | "# + client + " || true", ["input": input])
    }
}

@Suite(.timeLimit(.minutes(15))) struct SecureCallTests {
    typealias Version = HTTPClient.Configuration.HTTPVersion

    private static func request(_ parts: [String], _ number: Int, _ port: Int) -> HTTPClientRequest {
        let target = parts[0].split(separator: " ")
        var request = HTTPClientRequest(url: "https://localhost:\(port)\(target[1])")
        request.method = HTTPMethod(rawValue: String(target[0]))
        for line in parts[1].components(separatedBy: "\r\n") where !line.hasPrefix("Content-Length") {
            let field = line.components(separatedBy: ": ")
            request.headers.add(name: field[0], value: field[1])
        }
        request.headers.add(name: "Request-Id", value: "r-\(number)")
        if target[0] != "GET" { request.body = .bytes(ByteBuffer(string: parts[2])) }
        return request
    }

    private static func text(_ response: HTTPClientResponse) async throws -> String {
        String(buffer: try await response.body.collect(upTo: 1 << 20))
    }

    @Test(arguments: [Version.http1Only, .automatic])
    func `Requests over TLS get the same responses as over TCP`(_ version: Version) async throws {
        try await TLSTests.withClient(version) { client, port in
            // A refusal that closes an HTTP/1.1 connection but not an HTTP/2 connection.
            let large = PipeliningTests.put("a-4", String(repeating: " ", count: 100_000))
            for (number, (parts, status)) in (PipeliningTests.requests + [(large, 413)]).enumerated() {
                let answer = try await client.execute(Self.request(parts, number, port), timeout: .seconds(30))
                let text = try await Self.text(answer)
                #expect(answer.status.code == UInt(status), "\(parts): \(text)")
                #expect(answer.version == (version == .http1Only ? .http1_1 : .http2))
                #expect(answer.headers["Connection"].isEmpty == (status != 413 || version != .http1Only))
            }
            #expect(await TLSTests.isServed(by: client, port))
        }
    }

    @Test func `Dozens of the largest bodies on one HTTP 2 connection get responses`() async throws {
        try await TLSTests.withClient(.automatic) { client, port in
            let body = #"{"token":"aa01"}"#
            let largest = body + String(repeating: " ", count: 65_536 - body.utf8.count)
            for number in 0..<40 {
                let request = Self.request(PipeliningTests.put("a-\(number)", largest), number, port)
                let status = try await client.execute(request, timeout: .seconds(30)).status.code
                #expect(status == 201)
            }
        }
    }

    /// The service stops once all connections are closed, or after a minute.
    @Test(arguments: [Version.http1Only, .automatic])
    func `The connection of a client that leaves is closed at once`(_ version: Version) async throws {
        let left = try await TLSTests.withClient(version) { client, port in
            let request = Self.request(PipeliningTests.put("a-1", #"{"token":"aa01"}"#), 1, port)
            let status = try await client.execute(request, timeout: .seconds(30)).status
            #expect(status == .created)
            return ContinuousClock.now
        }
        #expect(.now - left < .seconds(40))
    }

    @Test func `Hundreds of concurrent streams each get their own response`() async throws {
        _ = try await TLSTests.withClient(.automatic) { client, port in
            try await concurrently(0..<400) { number in
                let id = "m-\(number)"
                let body = #"{"token":"aa\#(String(number + 0x1000, radix: 16))","aliases":{"orderId":"\#(id)"}}"#
                let put = Self.request(PipeliningTests.put(id, body), number, port)
                #expect(try await client.execute(put, timeout: .seconds(60)).status == .created)
                let accept = number.isMultiple(of: 2) ? "Accept: application/json" : "Accept: application/x-ndjson"
                let get = Self.request(PipeliningTests.get("orderId/\(id)/activities", accept), number, port)
                let answer = try await client.execute(get, timeout: .seconds(60))
                #expect(answer.headers["Request-Id"] == ["r-\(number)"])
                #expect(try await Self.text(answer).contains(#""activityId":"\#(id)""#))
            }
        }
    }
}
