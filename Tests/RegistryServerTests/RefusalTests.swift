import Foundation
import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

/// The refusal of each invalid request, and the limits of requests.
@Suite(.service, .timeLimit(.minutes(15))) struct RefusalTests {
    /// Each request also has the errors of all later requests in this list, so the response shows the first error in
    /// the documented order.
    @Test func `Refusals come in the documented order`() async throws {
        let path = "/v1/apps/com.example.food/sandbox/activities/a-1"
        let nowhere = "/v1/apps/com.example.none/sandbox/activities/a-1"
        let large = [UInt8](repeating: UInt8(ascii: "x"), count: 64 * 1024 + 1)
        let text: HTTPFields = [.contentType: "text/plain"]
        let credentials: HTTPFields = [.contentType: "text/plain", .authorization: "Bearer x"]
        let cases: [(HTTPRequest.Method, String, [UInt8], HTTPFields, String)] = [
            (.patch, "/v2/%", large, credentials, "malformed-path"),
            (.patch, "/v2/apps", large, credentials, "no-such-route"),
            (.patch, nowhere, large, credentials, "method-not-allowed"),
            (.put, nowhere, large, credentials, "unauthenticated"),
            (.put, nowhere, large, text, "unknown-app"),
            (.put, path, large, text, "body-too-large"),
            (.put, path, Array("{".utf8), text, "unsupported-media-type"),
            (.put, path, Array("{".utf8), [:], "malformed-json"),
            (.put, path, Array("{}".utf8), [:], "invalid-request /token"),
        ]
        for (method, path, body, fields, problem) in cases {
            #expect(try await server.send(method, path, body, fields).problem == problem)
        }
    }

    @Test func `Refusals have their header fields`() async throws {
        let method = try await server.call(.get, "…/activities")
        #expect(method.status == 405)
        #expect(method.fields[.allow] == "DELETE, POST")
        let credentials = try await server.call(.get, "/v1/apps", nil, [.authorization: "Basic dTpw"])
        #expect(credentials.status == 401)
        #expect(credentials.fields[.wwwAuthenticate] == "Bearer")
        let large = try await server.send(.post, "…/resolve", [UInt8](repeating: 0x20, count: 2 * 1024 * 1024 + 1))
        #expect(large.status == 413)
        #expect(large.fields[.connection] == "close")
    }

    @Test(.secureService) func `Public calls accept any credentials and none`() async throws {
        for path in ["/livez", "/readyz", "/openapi.json"] {
            #expect(try await server.call(.get, path).status == 200)
            #expect(try await server.call(.get, path, nil, [.authorization: "Bearer x"]).status == 200)
        }
        #expect(try await server.call(.get, "/none").problem == "no-such-route")
    }

    @Test func `Bodies at their limits are accepted, and larger ones refused`() async throws {
        let frame = #"{"token":"00","x":""}"#
        func body(of size: Int) -> [UInt8] {
            Array(frame.dropLast(2).utf8) + [UInt8](repeating: 0x61, count: size - frame.utf8.count)
                + Array(#""}"#.utf8)
        }
        #expect(try await server.send(.put, "…/activities/a", body(of: 64 * 1024)).status == 201)
        #expect(try await server.send(.put, "…/activities/a", body(of: 64 * 1024 + 1)).status == 413)
        // A batch may be larger, but this is not a batch.
        #expect(
            try await server.send(.post, "…/resolve", body(of: 64 * 1024 + 1)).problem == "invalid-request /aliases"
        )
    }

    @Test(arguments: [
        "", " ", "{", "{}x", "nul", "{\"a\":1,}", "\u{FEFF}{}", "{\"a\":\"\\ud800\"}", "{'a':1}",
        String(repeating: "[", count: 30_000) + String(repeating: "]", count: 30_000),
    ])
    func `A body that is not JSON is refused`(_ text: String) async throws {
        #expect(try await server.send(.put, "…/activities/a", Array(text.utf8)).problem == "malformed-json")
    }

    @Test func `Strange input never gets a 500`() async throws {
        var random = SeededGenerator(seed: 42)
        for _ in 0..<400 {
            let route = Route.all.filter { $0.body != .none }.randomElement(using: &random)!
            let body = NastyJSON.body(using: &random)
            let path = NastyJSON.path(route.template, using: &random)
            let reply = try await server.call(route.method, path, body)
            #expect(reply.status < 500, "\(route.method) \(path) \(body)")
        }
    }
}
