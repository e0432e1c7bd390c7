import Foundation
import HTTPTypes
import Logging
import RegistryCore
import Testing

@testable import RegistryServer

@Suite struct ProblemResponseTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func answer(_ error: any Error) throws -> (fields: HTTPFields, status: Int, body: JSONValue) {
        let answer = Response(error, requestID: "r-1", logger: logger)
        return (answer.fields, answer.status.code, try JSONParser.parse(answer.bytes))
    }

    @Test(arguments: Problem.Code.allCases) func `The body of every code has the documented members`(
        _ code: Problem.Code
    ) throws {
        let (fields, status, body) = try answer(Problem(code, "It is so."))
        #expect(status == code.status)
        #expect(fields[.contentType] == "application/problem+json")
        #expect(
            body == [
                "type": "urn:push-token-registry:problem:\(code.rawValue)", "title": .string(code.title),
                "status": .integer(Int64(code.status)), "detail": "It is so.", "code": .string(code.rawValue),
                "requestId": "r-1",
            ] as JSONValue
        )
    }

    @Test func `The body contains the faults and the activity of a problem`() throws {
        var problem = Problem(.superseded, "A later one is current.")
        problem.errors = [JSONFault(pointer: "/a~1b", detail: "is wrong")]
        problem.serverTime = RFC3339.parse("2026-11-21T08:00:00Z")
        var activity = ActivityStatus(activityID: try ActivityID("a-1"), state: .ended, revision: 3)
        activity.reason = "ended"
        activity.observedAt = RFC3339.parse("2026-11-21T07:00:00.5Z")
        activity.endedAt = RFC3339.parse("2026-11-21T07:30:00Z")
        problem.activity = activity
        let body = try answer(problem).body
        #expect(body["activityId"] == "a-1")
        #expect(body["state"] == "ended")
        #expect(body["reason"] == "ended")
        #expect(body["observedAt"] == "2026-11-21T07:00:00.500Z")
        #expect(body["endedAt"] == "2026-11-21T07:30:00.000Z")
        #expect(body["serverTime"] == "2026-11-21T08:00:00.000Z")
        #expect(body["errors"] == [["pointer": "/a~1b", "detail": "is wrong"]])
    }

    @Test func `Codes have their header fields`() throws {
        #expect(try answer(Problem(.unauthenticated, "")).fields[.wwwAuthenticate] == "Bearer")
        #expect(try answer(Problem(.unavailable, "")).fields[.retryAfter] == "1")
        #expect(try answer(Problem(.bodyTooLarge, "")).fields[.connection] == "close")
        var limited = Problem(.tooManyRequests, "")
        limited.retryAfter = .milliseconds(2500)
        #expect(try answer(limited).fields[.retryAfter] == "3")
        let refused = try answer(MethodNotAllowed(allowed: [.delete, .put]))
        #expect(refused.fields[.allow] == "DELETE, PUT")
        #expect(refused.status == 405)
    }

    @Test func `Other errors reveal nothing`() throws {
        struct Secret: Error, CustomStringConvertible { let description = "token deadbeef" }
        let (_, status, body) = try answer(Secret())
        #expect(status == 500)
        #expect(!body.description.contains("deadbeef"))
        #expect(try answer(CancellationError()).status == 503)
        #expect(try answer(JSONSyntaxError(offset: 3, detail: "is odd")).status == 400)
        #expect(try answer(JSONFaults([JSONFault(pointer: "/x", detail: "is odd")])).status == 422)
    }
}
