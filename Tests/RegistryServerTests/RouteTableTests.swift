import HTTPTypes
import RegistryCore
import Testing

@testable import RegistryServer

@Suite struct RouteTableTests {
    private static let table = RouteTable(Route.all)

    @Test(arguments: [
        (
            HTTPRequest.Method.put, "/v1/apps/a/sandbox/activities/x",
            "/v1/apps/{bundleId}/{environment}/activities/{activityId}"
        ),
        (.get, "/v1/apps/a/sandbox/activities/x", "/v1/apps/{bundleId}/{environment}/activities/{activityId}"),
        (.head, "/v1/apps/a/sandbox/activities/x", "/v1/apps/{bundleId}/{environment}/activities/{activityId}"),
        (.delete, "/v1/apps/a/sandbox/activities", "/v1/apps/{bundleId}/{environment}/activities"),
        (.post, "/v1/apps/a/mars/resolve", "/v1/apps/{bundleId}/{environment}/resolve"),
        (.get, "/v1/apps", "/v1/apps"),
        (.get, "/v1/apps/resolve", "/v1/apps/{bundleId}"),
        (.get, "/livez", "/livez"),
    ])
    func `A path matches its route`(_ method: HTTPRequest.Method, _ path: String, _ template: String) throws {
        let match = try Self.table.match(method, RequestTarget(path).parts)
        #expect(match.route.template == template)
    }

    @Test func `A route returns its path parameters`() throws {
        let path = "/v1/apps/com.example/sandbox/aliases/k%2Fx/a%2Fb+c/activities"
        let match = try Self.table.match(.get, RequestTarget(path).parts)
        let names = ["bundleId", "environment", "kind", "value", "activityId"]
        #expect(names.map { match.parameters[$0] } == ["com.example", "sandbox", "k/x", "a/b+c", nil])
    }

    @Test(arguments: [
        "/", "/v1", "/v2/apps", "/v1/apps/", "/v1/apps//sandbox/activities", "/livez/", "//livez", "/LIVEZ",
        "/v1/apps/a/sandbox", "/v1/apps/a/sandbox/activities/", "/v1/apps/a/sandbox/activities/x/y",
        "/v1/apps/a/sandbox/aliases/k//activities", "/docs", "/console", "/v1/apps/a/keys/",
        "/v1/apps/a/sandbox/reports", "/v1/apps/a%2Fsandbox/activities",
    ])
    func `An unknown path has no route`(_ path: String) {
        let problem = #expect(throws: Problem.self) { try Self.table.match(.get, RequestTarget(path).parts) }
        #expect(problem?.code == .noSuchRoute)
    }

    @Test(arguments: [
        (HTTPRequest.Method.post, "/livez", "GET, HEAD"),
        (.patch, "/v1/apps/a/sandbox/activities/x", "DELETE, GET, HEAD, PUT"),
        (.get, "/v1/apps/a/sandbox/activities", "DELETE, POST"),
        (.head, "/v1/apps/a/sandbox/resolve", "POST"),
        (.options, "/v1/apps", "GET, HEAD"),
        (.get, "/v1/apps/a/sandbox/installations/i/activities", "PUT"),
    ])
    func `A path lists its methods`(_ method: HTTPRequest.Method, _ path: String, _ allowed: String) {
        let error = #expect(throws: MethodNotAllowed.self) { try Self.table.match(method, RequestTarget(path).parts) }
        #expect(error?.allowed.map(\.rawValue).joined(separator: ", ") == allowed)
    }
}
