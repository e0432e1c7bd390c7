import PushTokenRegistry
import PushTokenRegistryTestSupport
import TestSupport
import Testing

struct Story: Sendable {
    let life: PhoneLife

    /// Starts with the app in the foreground and a signed-in user.
    static func tell(
        headStart: Duration = PhoneLife.headStart,
        lifetime: String = SimulatedService.lifetime,
        _ body: @escaping @Sendable (Story) async throws -> Void
    ) async throws {
        try await SimulatedService.run(lifetime: lifetime) { service in
            let story = Story(life: PhoneLife("story", on: service, headStart: headStart))
            await story.play(.launch(listIsLate: false), .signIn(0), .time(seconds: 3))
            try await body(story)
            await story.phone.killApp()
        }
    }

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
        let faults = try await life.compared()
        #expect(faults == [], "\(life.network.diary.text)", sourceLocation: location)
    }

    /// Senders get the activity's current token, or none.
    func handsOut(
        _ activity: FakeActivity,
        _ isExpected: Bool = true,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let token = try await life.service.sender.token(ofActivity: activity.id)
        let expected = isExpected ? activity.token.map { PushToken($0).hexadecimal } : nil
        #expect(token == expected, "\(life.network.diary.text)", sourceLocation: location)
    }

    func knows(
        _ activity: FakeActivity,
        as expected: String,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let state = try await life.service.sender.state(ofActivity: activity.id)
        #expect(state == expected, "\(life.network.diary.text)", sourceLocation: location)
    }

    /// A sender's plan for the activity's order, an hour before its end, is one step.
    func plans(
        _ action: String,
        for activity: FakeActivity,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let type = await phone.types.first { type in type.all.contains { $0.id == activity.id } }
        let alias = activity.aliases["liveactivityId"] ?? ""
        let actions = try await life.service.sender.plan(alias, attributesType: type?.name ?? "")
        #expect(actions == [action], "\(life.network.diary.text)", sourceLocation: location)
    }

    /// The registry has a time of the activity by the correct clock.
    func knows(
        _ activity: FakeActivity,
        _ member: String,
        at expected: Timestamp,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let time = try #require(try await life.service.sender.time(member, ofActivity: activity.id))
        #expect((time - expected).magnitude < .seconds(10), "\(life.network.diary.text)", sourceLocation: location)
    }

    /// A sender finds this number of a user's tokens.
    func finds(
        _ count: Int,
        _ list: String,
        of user: Int,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let tokens = try await life.service.sender.tokens(list, ofUser: life.users[user])
        #expect(tokens.count == count, "\(life.network.diary.text)", sourceLocation: location)
    }
}
