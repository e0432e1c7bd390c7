import Foundation
import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

/// C12: only the registry's own response settles a report.
@Suite struct ResponseClassTests {
    private static func answer(_ status: Int, _ fields: [String: String], _ body: String) -> ResponseClass {
        ResponseClass(TransportResponse(status: status, fields: fields, body: Data(body.utf8)).result)
    }

    @Test(arguments: [
        (204, ""), (200, #"{"activityId": "a", "outcome": "rotated"}"#), (201, #"{"installation": "ab"}"#),
        (200, #"{"results": [], "ended": []}"#),
    ])
    func `The registry's success responses are accepted`(status: Int, body: String) {
        #expect(Self.answer(status, ["request-id": "r"], body) == .accepted)
    }

    @Test(arguments: [
        (200, ["Content-Type": "text/html"], "<html>Welcome</html>"),
        (200, ["Content-Type": "application/json"], #"{"outcome": "registered"}"#),
        (200, ["Request-Id": "r"], "<html>Welcome</html>"), (200, ["Request-Id": "r"], #"{"login": true}"#),
        (200, ["Request-Id": ""], #"{"outcome": "registered"}"#), (204, [:], ""), (302, ["Location": "/login"], ""),
        (301, ["Request-Id": "r"], ""), (403, [:], "<html>Forbidden</html>"), (404, ["Request-Id": "r"], "Not here"),
        (404, [:], #"{"code": "unknown-app", "detail": ""}"#), (410, ["Request-Id": "r"], #"{"error": "gone"}"#),
        (511, [:], ""), (502, [:], "<html>Bad Gateway</html>"),
    ])
    func `Portals, proxies and redirects count as no response`(status: Int, fields: [String: String], body: String) {
        #expect(Self.answer(status, fields, body) == .none)
    }

    @Test func `A problem with a code keeps its detail and server time`() {
        let body =
            #"{"code": "clock-skew", "status": 422, "detail": "Ahead.", "serverTime": "2026-11-21T08:30:00.412Z"}"#
        let problem = Problem(code: .clockSkew, detail: "Ahead.", serverTime: "2026-11-21T08:30:00.412Z")
        #expect(Self.answer(422, ["Request-Id": "r"], body) == .refused(status: 422, problem))
    }

    @Test(arguments: [408, 429, 500, 502, 503]) func `408, 429 and 5xx are retried after Retry-After`(status: Int) {
        #expect(Self.answer(status, ["Retry-After": "7"], "") == .retryLater(after: .seconds(7)))
        #expect(Self.answer(status, ["Request-Id": "r"], #"{"code": "unavailable"}"#) == .retryLater(after: nil))
        for nonsense in ["-1", "soon", "Sat, 21 Nov 2026 08:30:00 GMT", "99999999999"] {
            #expect(Self.answer(status, ["Request-Id": "r", "Retry-After": nonsense], "") == .retryLater(after: nil))
            #expect(Self.answer(status, ["Retry-After": nonsense], "") == .none)
        }
    }

    @Test func `Only the registry's responses give the server time`() throws {
        let date = ["Date": "Sat, 21 Nov 2026 08:30:00 GMT"]
        let time = try #require(Timestamp(text: "2026-11-21T08:30:00Z"))
        func serverTime(_ response: TransportResponse) -> Timestamp? {
            guard case .response(let answer, _) = response.result else { return nil }
            return answer.serverTime(ResponseClass(response.result))
        }
        #expect(serverTime(.ours(204, fields: date)) == time)
        #expect(serverTime(TransportResponse(status: 200, fields: date, body: Data())) == nil)
        #expect(serverTime(.problem(422, "clock-skew", serverTime: .at(5))) == .at(5))
    }
}
