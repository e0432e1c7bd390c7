import Foundation
import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

@Suite struct StoredStateTests {
    private static var state: StoredState {
        let played = PlayedOutbox()
        var registration = ActivityRegistration(activityID: "a-1", token: PushToken([1, 255]))
        (registration.startedAt, registration.startsAt) = (.at(1), .at(2))
        (registration.aliases, registration.frequentPushesEnabled) = (["liveactivityId": ["order-42"]], true)
        let reports: [Report] = [
            .registration(registration), .end("a-2", isDismissal: true), .start(nil), .start("aa", of: "Match"),
            .installationToken(.device, PushToken([3])), .installationToken(.widget, nil),
            .installation(aliases: ["userId": ["u-7"]], metadata: nil), .fullState([registration]),
        ]
        for (index, report) in reports.enumerated() {
            played.add(report, at: Double(index), by: .user("u-7"))
        }
        played.add(.logOut, at: 0)
        var state = StoredState()
        (state.outbox, state.user) = (played.outbox, "u-7")
        _ = state.clock.observe(.at(7))
        _ = state.clock.notice(.at(7))
        return state
    }

    @Test func `The state is read as it was written`() {
        #expect(Self.state.outbox.entries.count == 9)
        #expect(StoredState(Self.state.bytes) == Self.state)
    }

    @Test func `The file has a version and keeps the time of the first refusal`() throws {
        #expect(String(decoding: Self.state.bytes, as: UTF8.self).contains(#""version":1"#))
        let played = PlayedOutbox()
        played.add(.token("aa"), at: 1)
        played.answerAll(.problem(403, "forbidden"))
        var state = StoredState()
        state.outbox = played.outbox
        let read = try #require(StoredState(state.bytes))
        let relaunched = PlayedOutbox()
        relaunched.outbox = read.outbox
        relaunched.now = 86_400
        relaunched.answerAll(.problem(403, "forbidden"))
        #expect(relaunched.outbox.entries.isEmpty, "the day counts from the first refusal, over launches")
    }

    @Test func `A truncated file is not read as a state`() {
        let bytes = Self.state.bytes
        for length in stride(from: 0, to: bytes.count, by: 97) { #expect(StoredState(bytes.prefix(length)) == nil) }
    }
}
