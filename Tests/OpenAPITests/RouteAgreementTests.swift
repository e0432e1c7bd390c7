import HTTPTypes
import RegistryCore
import Testing

@testable import RegistryServer

@Suite struct RouteAgreementTests {
    private static let document = OpenAPIDocument.embedded

    @Test func `Every route is documented, and every documented operation has a route`() {
        let documented = Self.document.operations.map { "\($0.method.uppercased()) \($0.path)" }
        let routed = Route.all.map { "\($0.method.rawValue) \($0.template)" }
        #expect(documented.sorted() == routed.sorted())
    }

    @Test(arguments: document.operations.map(\.id))
    func `Route and operation have the same roles and bodies`(id: String) throws {
        let operation = try #require(Self.document.operation(id))
        let route = try #require(
            Route.all.first { $0.method.rawValue.lowercased() == operation.method && $0.template == operation.path }
        )
        #expect(operation.roles.sorted() == (route.access.roles ?? []).map(\.rawValue).sorted())
        #expect(operation.isOpenToEveryone == (route.access == .everyone))
        #expect((operation.requestSchema != nil) == (route.body != .none))
        #expect(operation.response(413)?.reference == Self.tooLarge[route.body])
        #expect((operation.response(415) != nil) == (route.body != .none))
    }

    private static let tooLarge: [Route.Body: String] = [
        .single: "#/components/responses/BodyTooLarge", .batch: "#/components/responses/BatchTooLarge",
        .batchOrLines: "#/components/responses/BatchTooLarge",
    ]
}
