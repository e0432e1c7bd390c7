import Foundation
import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite struct ReportRequestTests {
    private static func request(_ report: Report, _ service: String) throws -> RecordedRequest {
        var configuration = LiveActivityRegistry.Configuration(service: try #require(URL(string: service)), key: "k")
        (configuration.bundleID, configuration.environment) = ("com.example.food", .production)
        let entry = OutboxEntry(id: 1, report: report, observedAt: .at(0), owner: .installation)
        return RecordedRequest(configuration.request(entry, "i 1", "k"))
    }

    private static func call(_ report: Report) throws -> (String, String?) {
        let service = "https://push.example.com/base/"
        let request = try Self.request(report, service)
        let base = "\(service)v1/apps/com.example.food/production"
        let path = request.url.absoluteString.replacingOccurrences(of: base, with: "")
        return ("\(request.method) \(path)", request.body.map { String(decoding: $0, as: UTF8.self) })
    }

    private static let time = "2026-09-21T14:13:20.000Z"
    private static let query = "observedAt=2026-09-21T14:13:20.000Z"

    @Test func `Ends, removals and log-outs use DELETE with the time in the query`() throws {
        #expect(try Self.call(.end("a")) == ("DELETE /activities/a?\(Self.query)&reason=ended", nil))
        #expect(try Self.call(.end("a", isDismissal: true)).0 == "DELETE /activities/a?\(Self.query)&reason=dismissed")
        #expect(try Self.call(.logOut) == ("DELETE /installations/i%201?\(Self.query)", nil))
        #expect(
            try Self.call(.installationToken(.device, nil)).0
                == "DELETE /installations/i%201/tokens/device?\(Self.query)"
        )
        #expect(
            try Self.call(.start(nil, of: "A.B<C>")).0
                == "DELETE /installations/i%201/start-tokens/A.B%3CC%3E?\(Self.query)"
        )
    }

    @Test func `Tokens use PUT with their time`() throws {
        let body = #"{"observedAt":"\#(Self.time)","token":"00ff"}"#
        #expect(try Self.call(.start("00ff")) == ("PUT /installations/i%201/start-tokens/Delivery", body))
        #expect(
            try Self.call(.installationToken(.device, PushToken([0, 255]))) == (
                "PUT /installations/i%201/tokens/device", body
            )
        )
        #expect(try Self.call(.token("00ff", of: "é/+")) == ("PUT /activities/%C3%A9%2F+", body))
    }

    @Test func `A registration contains the known facts and omits the others`() throws {
        var registration = ActivityRegistration(activityID: "a", token: PushToken([1]))
        (registration.startedAt, registration.startsAt) = (.at(-1), .at(60))
        (registration.attributesType, registration.frequentPushesEnabled) = ("Delivery", false)
        registration.aliases = ["liveactivityId": ["order-42"], "team": ["a", "b"]]
        let facts =
            #""aliases":{"liveactivityId":["order-42"],"team":["a","b"]},"attributesType":"Delivery","frequentPushesEnabled":false,"#
        let times = #""startedAt":"2026-09-21T14:13:19.000Z","startsAt":"2026-09-21T14:14:20.000Z","token":"01"}"#
        #expect(try Self.call(.registration(registration)).1 == "{\(facts)\"observedAt\":\"\(Self.time)\",\(times)")
    }

    @Test func `A full state lists activities by id and can be empty`() throws {
        let activities = [
            ActivityRegistration(activityID: "a", token: PushToken([1])),
            ActivityRegistration(activityID: "b", token: nil),
        ]
        let call = try Self.call(.fullState(activities))
        #expect(call.0 == "PUT /installations/i%201/activities")
        #expect(
            call.1
                == #"{"activities":[{"activityId":"a","token":"01"},{"activityId":"b"}],"observedAt":"\#(Self.time)"}"#
        )
        #expect(try Self.call(.fullState([])).1 == #"{"activities":[],"observedAt":"\#(Self.time)"}"#)
    }

    @Test(arguments: ["https://a.example", "https://a.example/x", "https://a.example/x/"])
    func `The service URL can have a path and a final slash`(service: String) throws {
        let url = try Self.request(.logOut, service).url
        let base = service.hasSuffix("/") ? String(service.dropLast()) : service
        #expect(url.absoluteString == "\(base)/v1/apps/com.example.food/production/installations/i%201?\(Self.query)")
    }
}

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

@Suite struct TransportTests {
    @Test func `The session has no cache, no cookies and no stored credentials`() {
        let configuration = HTTPTransport.configuration
        #expect(configuration.urlCache == nil)
        #expect(configuration.httpCookieStorage == nil)
        #expect(!configuration.httpShouldSetCookies)
        #expect(configuration.urlCredentialStorage == nil)
        #expect(configuration.requestCachePolicy == .reloadIgnoringLocalCacheData)
        #expect(configuration.timeoutIntervalForRequest == 30)
    }

    @Test func `A request without a connection counts as not sent`() async throws {
        let url = try #require(URL(string: "http://127.0.0.1:1/installations/i-1"))
        guard case .notSent = await HTTPTransport.urlSession.send(URLRequest(url: url)) else {
            Issue.record("it was sent")
            return
        }
    }

    @Test func `A redirect is not followed`() async throws {
        let session = HTTPTransport.session
        let delegate = try #require(session.delegate as? NoRedirects)
        let url = try #require(URL(string: "http://127.0.0.1:1/v1"))
        let response = try #require(HTTPURLResponse(url: url, statusCode: 307, httpVersion: nil, headerFields: nil))
        let (task, request) = (session.dataTask(with: url), URLRequest(url: url))
        let next = await withCheckedContinuation { next in
            delegate.urlSession(session, task: task, willPerformHTTPRedirection: response, newRequest: request) {
                next.resume(returning: $0)
            }
        }
        #expect(next == nil)
    }
}
