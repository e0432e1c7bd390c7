import Foundation
import PushTokenRegistry
import PushTokenRegistryTestSupport
import TestSupport
import Testing

/// Begins a story for a test, with the app in the foreground and a signed-in user.
struct StoryTrait: TestTrait, TestScoping {
    @TaskLocal fileprivate static var current: Story?
    let headStart: Duration
    let lifetime: String

    func provideScope(for _: Test, testCase _: Test.Case?, performing test: TestBody) async throws {
        try await SimulatedService.run(lifetime: lifetime) { service in
            let story = Story(life: PhoneLife("story", on: service, headStart: headStart))
            await story.play(.launch(listIsLate: false), .signIn(0), .time(seconds: 3))
            try await Self.$current.withValue(story, operation: test)
            await story.phone.killApp()
        }
    }
}

extension Trait where Self == StoryTrait {
    static var story: Self { story() }

    static func story(
        headStart: Duration = PhoneLife.headStart,
        lifetime: String = SimulatedService.lifetime
    ) -> Self { StoryTrait(headStart: headStart, lifetime: lifetime) }
}

var story: Story { StoryTrait.current ?? { fatalError("The test lacks the trait .story.") }() }

struct Story: Sendable {
    let life: PhoneLife

    var phone: SimulatedPhone { get async { await life.phone } }
    func play(_ steps: Step...) async { for step in steps { await life.play(step) } }

    /// Begins an activity with a token, with or without a running app.
    func beginActivity(order: String? = nil) async -> FakeActivity {
        await life.goOn(0.01)
        let activity = await life.begin(order: order)
        await phone.rest()
        await life.tokenComes(to: activity)
        await phone.rest()
        return activity
    }

    func tokenComes(to activity: FakeActivity) async {
        await life.tokenComes(to: activity)
        await phone.rest()
    }

    /// A sender's view equals the phone, and no report waits.
    func agrees(_ location: SourceLocation = #_sourceLocation) async throws {
        #expect(try await life.compared() == [], "\(life.network.diary.text)", sourceLocation: location)
    }

    /// Senders get the activity's current token, or none.
    func handsOut(
        _ activity: FakeActivity,
        _ isExpected: Bool = true,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let token = try await life.service.sender.text("token", ofActivity: activity.id)
        let expected = isExpected ? activity.token.map { PushToken($0).hexadecimal } : nil
        #expect(token == expected, "\(life.network.diary.text)", sourceLocation: location)
    }

    func knows(
        _ activity: FakeActivity,
        as expected: String,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let state = try await life.service.sender.text("state", ofActivity: activity.id)
        #expect(state == expected, "\(life.network.diary.text)", sourceLocation: location)
    }

    /// The registry has a time of the activity by the correct clock.
    func knows(
        _ activity: FakeActivity,
        _ member: String,
        at expected: Timestamp,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let text = try await life.service.sender.text(member, ofActivity: activity.id)
        let time = try #require(text.flatMap(Timestamp.init(text:)))
        #expect((time - expected).magnitude < .seconds(10), "\(life.network.diary.text)", sourceLocation: location)
    }

    /// A sender finds this number of a user's tokens.
    func finds(_ count: Int, _ list: String, of user: Int, _ location: SourceLocation = #_sourceLocation) async throws {
        let tokens = try await life.service.sender.tokens(list, ofUser: life.users[user])
        #expect(tokens.count == count, "\(life.network.diary.text)", sourceLocation: location)
    }
}

extension SimulatedNetwork {
    /// The number of requests with this end of the path.
    func delivered(to path: String) -> Int { delivered.filter { $0.url.path.hasSuffix("/\(path)") }.count }

    func reasons(ofEnd activity: String) -> Set<String> {
        let ends = delivered.filter { $0.method == "DELETE" && $0.url.path.hasSuffix("/activities/\(activity)") }
        return Set(ends.compactMap { $0["reason"] })
    }

    /// The owners of requests about an activity: the `sub` of a JWT, or `key`.
    func authorities(of activity: String) -> Set<String> {
        let requests = delivered.filter { $0.url.path.hasSuffix("/activities/\(activity)") }
        return Set(requests.map { SimulatedService.user(of: $0.fields["Authorization"] ?? "") ?? "key" })
    }
}
