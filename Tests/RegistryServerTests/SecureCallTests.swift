import AsyncHTTPClient
import Foundation
import HTTPTypes
import Logging
import NIOCore
import NIOHTTP1
import RegistryCore
import RegistryStore
import TestSupport
import Synchronization
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct SecureCallTests {
    typealias Version = HTTPClient.Configuration.HTTPVersion

    private static func run(_ version: Version, _ test: @Sendable (HTTPClient, Int) async throws -> Void) async throws {
        let files = try TLSTests.Files()
        defer { files.remove() }
        let database = try await TestDatabase.make()
        _ = try await database.scope()
        try await serve(files, on: database) { port in
            try await TLSTests.call(version, trusting: files) { try await test($0, port) }
        }
    }

    static func serve(
        _ files: TLSTests.Files,
        on database: TestDatabase,
        _ adjust: (inout ServerConfiguration.Limits) -> Void = { _ in },
        _ test: @Sendable (Int) async throws -> Void
    ) async throws {
        var settings = ServerConfiguration(port: 0, insecureNoAuth: true)
        adjust(&settings.limits)
        settings.tls = try TLSIdentity(certificate: files.certificate, key: files.key, logger: .silent)
        let responder = RegistryResponder(registry: database.registry, configuration: settings, logger: .silent)
        try await Listener.run(settings, responder.respond, test)
    }

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

    /// The response in a form that does not depend on the version.
    private static func text(_ response: HTTPClientResponse) async throws -> String {
        let body = try await response.body.collect(upTo: 1 << 20)
        let fields = response.headers.map { "\($0.name.lowercased()): \($0.value)\r\n" }.sorted().joined()
        return HotCallTests.normalized("\(response.status.code)\r\n\(fields)\r\n\(String(buffer: body))")
    }

    private static func answers(_ version: Version) async throws -> [String] {
        let answers = ResponseBox()
        try await run(version) { client, port in
            for (number, (parts, _)) in HotCallTests.requests.enumerated() {
                let request = request(parts, number, port)
                answers.add(try await text(client.execute(request, timeout: .seconds(30))))
            }
        }
        return answers.answers
    }

    @Test(arguments: [Version.http1Only, .automatic])
    func `Requests over TLS and TCP get equal responses`(_ version: Version) async throws {
        let answers = try await Self.answers(version)
        #expect(answers.count == HotCallTests.requests.count)
        for (index, request) in HotCallTests.requests.enumerated() {
            #expect(answers[index].hasPrefix("\(request.status)\n"), "\(request.request): \(answers[index])")
        }
    }

    @Test func `Dozens of the largest bodies on one HTTP 2 connection get responses`() async throws {
        try await Self.run(.automatic) { client, port in
            let body = #"{"token":"aa01"}"#
            let largest = body + String(repeating: " ", count: 65_536 - body.utf8.count)
            for number in 0..<40 {
                let request = Self.request(HotCallTests.put("a-\(number)", largest), number, port)
                let status = try await client.execute(request, timeout: .seconds(30)).status.code
                #expect(status == 201)
            }
        }
    }

    /// The service stops once all connections are closed, or after a minute.
    @Test(arguments: [Version.http1Only, .automatic])
    func `The connection of a client that leaves is closed at once`(_ version: Version) async throws {
        let clock = ContinuousClock()
        let left = Mutex(clock.now)
        try await Self.run(version) { client, port in
            let request = Self.request(HotCallTests.put("a-1", #"{"token":"aa01"}"#), 1, port)
            let status = try await client.execute(request, timeout: .seconds(30)).status
            #expect(status == .created)
            left.withLock { $0 = clock.now }
        }
        #expect(clock.now - left.withLock { $0 } < .seconds(40))
    }

    @Test func `Hundreds of concurrent streams, hot and not, each get their own response`() async throws {
        try await Self.run(.automatic) { client, port in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<400 {
                    group.addTask {
                        let id = "m-\(number)"
                        let body =
                            #"{"token":"aa\#(String(number + 0x1000, radix: 16))","aliases":{"orderId":"\#(id)"}}"#
                        let put = Self.request(HotCallTests.put(id, body), number, port)
                        #expect(try await Self.text(client.execute(put, timeout: .seconds(60))).hasPrefix("201\n"))
                        let accept =
                            number.isMultiple(of: 2) ? "Accept: application/json" : "Accept: application/x-ndjson"
                        let get = Self.request(HotCallTests.get("orderId/\(id)/activities", accept), number, port)
                        let answer = try await Self.text(client.execute(get, timeout: .seconds(60)))
                        #expect(answer.contains("request-id: r-\(number)\n"))
                        #expect(answer.contains(#""activityId":"\#(id)""#))
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
