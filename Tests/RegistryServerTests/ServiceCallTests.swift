import HTTPTypes
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct ServiceCallTests {
    @Test(.service) func `HEAD is GET without its body`() async throws {
        let get = try await server.call(.get, "/openapi.json")
        let head = try await server.call(.head, "/openapi.json")
        #expect(head.status == 200)
        #expect(head.bytes.isEmpty)
        #expect(head.fields[.contentLength] == get.fields[.contentLength])
        #expect(try await server.call(.head, "…/activities/none").status == 404)
        #expect(try await server.call(.get, "/livez").status == 200)
    }

    @Test(.service) func `Every response has a request ID`() async throws {
        for path in ["/livez", "/none", "/%", "…/activities/none"] {
            let named = try await server.call(.get, path, nil, [RequestID.field: "my-request"])
            #expect(named.fields[RequestID.field] == "my-request")
            #expect(named.json["requestId"] == nil || named["requestId"] == "my-request")
            let given = try await server.call(.get, path, nil, [RequestID.field: "two words"])
            #expect(given.fields[RequestID.field]?.utf8.count == 32)
        }
    }

    @Test(arguments: [true, false])
    func `The service reports missing Postgres and a missing role`(_ isAway: Bool) async throws {
        let registry = Registry.away(
            isAway
                ? "host=/nonexistent dbname=none"
                : try await TestDatabase.make().connectionString + " user=nobody_of_ours",
            within: .milliseconds(500)
        )
        try await LiveServer.run(on: registry) { (server: LiveServer) async throws in
            #expect(try await server.call(.get, "/livez").status == 200)
            for path in ["/readyz", "/readyz?verbose", "/v1/apps", "/v1/apps/a", "…/activities/a-1"] {
                let reply = try await server.call(.get, path)
                #expect(reply.status == 503 && reply.problem == "unavailable", "\(path)")
                #expect(reply.fields[.retryAfter] == "1")
            }
            let write = try await server.call(.put, "…/activities/a-1", ["token": "00"])
            #expect(write.problem == "unavailable")
            #expect(try await server.call(.get, "/none").problem == "no-such-route")
        }
    }
}
