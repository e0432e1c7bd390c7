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
