import HTTPTypes
import RegistryCore
import Testing

@testable import RegistryServer

@Suite struct ProblemResponseTests {
    private func answer(_ error: any Error) throws -> (fields: HTTPFields, status: Int, body: JSONValue) {
        let answer = Response(error, requestID: "r-1", logger: .silent)
        return (answer.fields, answer.status.code, try JSONParser.parse(answer.bytes))
    }

    @Test func `Waits are rounded up to seconds`() throws {
        var limited = Problem(.tooManyRequests, "")
        limited.retryAfter = .milliseconds(2500)
        #expect(try answer(limited).fields[.retryAfter] == "3")
    }

    @Test func `Other errors reveal nothing`() throws {
        struct Secret: Error, CustomStringConvertible { let description = "token deadbeef" }
        let (_, status, body) = try answer(Secret())
        #expect(status == 500)
        #expect(!body.description.contains("deadbeef"))
        #expect(try answer(CancellationError()).status == 503)
        #expect(try answer(JSONSyntaxError(offset: 3, detail: "is odd")).status == 400)
    }
}
