import AsyncHTTPClient
import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1
import Testing

@testable import RegistryServer

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
        try await TLSTests.withClient(.automatic) { client, port in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<400 {
                    group.addTask {
                        let id = "m-\(number)"
                        let body =
                            #"{"token":"aa\#(String(number + 0x1000, radix: 16))","aliases":{"orderId":"\#(id)"}}"#
                        let put = Self.request(PipeliningTests.put(id, body), number, port)
                        #expect(try await client.execute(put, timeout: .seconds(60)).status == .created)
                        let accept =
                            number.isMultiple(of: 2) ? "Accept: application/json" : "Accept: application/x-ndjson"
                        let get = Self.request(PipeliningTests.get("orderId/\(id)/activities", accept), number, port)
                        let answer = try await client.execute(get, timeout: .seconds(60))
                        #expect(answer.headers["Request-Id"] == ["r-\(number)"])
                        #expect(try await Self.text(answer).contains(#""activityId":"\#(id)""#))
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
