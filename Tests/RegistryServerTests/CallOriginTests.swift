import HTTPTypes
import RegistryCore
import Testing

@testable import RegistryServer

@Suite(.service, .timeLimit(.minutes(2))) struct CallOriginTests {
    private static let site = HTTPField.Name("Sec-Fetch-Site")!

    private static let foreign: [HTTPFields] = [
        [.origin: "https://evil.example"], [.origin: "null"], [.origin: "http://localhost:1"], [site: "cross-site"],
        [site: "same-site"], [site: "cross-site", .origin: "http://localhost"],
    ]

    @Test(arguments: foreign)
    func `Changes from other origins are refused`(_ fields: HTTPFields) async throws {
        let changes: [(HTTPRequest.Method, String, JSONValue?)] = [
            (.post, "…/release", nil), (.post, "…/activities/a/release", nil), (.delete, "…/activities/a", nil),
            (.put, "…/activities/a", ["token": .token(1)]), (.post, "…/resolve", ["aliases": []]),
        ]
        for (method, path, body) in changes {
            let reply = try await server.call(method, path, body, fields)
            #expect(reply.problem == "forbidden", "\(method) \(path)")
        }
        #expect(try await server.call(.get, "…/aliases/userId/u/activities", nil, fields).status == 200)
        #expect(try await server.call(.head, "/v1/apps", nil, fields).status == 200)
    }

    @Test(arguments: [[:], [.origin: "http://localhost"], [site: "same-origin"], [site: "same-origin", .origin: "x"]])
    func `The service's own pages and programs can make changes`(_ fields: HTTPFields) async throws {
        #expect(try await server.call(.post, "…/release", nil, fields).status == 200)
        #expect(try await server.call(.put, "…/activities/a", ["token": .token(1)], fields).status == 201)
    }

    /// Pages of other sites have no credentials.
    @Test(.secureService) func `With credentials, the origin does not matter`() async throws {
        var fields = try await server.key(.admin).fields
        fields[.origin] = "https://evil.example"
        #expect(try await server.call(.post, "…/release", nil, fields).status == 200)
    }
}
