import PushTokenRegistry
import PushTokenRegistryTestSupport
import Testing

/// A sender renews an activity before iOS ends it after eight hours.
@Suite(.timeLimit(.minutes(5))) struct RenewalStories {
    /// The registry's clock does not follow the phone's, so an activity that begins in hour H has 8 + H hours left there.
    /// After T hours of the story, the sender therefore renews T hours and three quarters before the end.
    @Test func `Two renewals keep an order on the screen for 20 hours`() async throws {
        try await Story.tell(headStart: .seconds(34 * 3600), lifetime: "PT42H") { story in
            for type in 0..<2 { await story.play(.startToken(type: type, isSilent: false)) }
            var shown = await story.beginActivity(order: "order-8")
            var renewals: [Double] = []
            for halfHours in 1...40 {
                await story.play(.time(seconds: 1800))
                let type = await story.phone.types.first { type in type.all.contains { $0.id == shown.id } }
                let actions = try await story.life.service.sender.plan(
                    "order-8",
                    attributesType: type?.name ?? "",
                    renewBefore: "PT\(halfHours * 30 + 45)M"
                )
                if actions == ["renew"] {
                    renewals.append(Double(halfHours) / 2)
                    let older = shown
                    shown = await story.beginActivity(order: "order-8")
                    await story.play(.time(seconds: 3))
                    #expect(older.phase == .dismissed)
                    #expect(story.life.network.reasons(ofEnd: older.id) == ["ended"])
                } else {
                    #expect(actions == ["update"], "after \(halfHours) half hours")
                }
                let handed = try await story.life.service.sender.activities(under: ["order-8"])
                #expect(handed.map(\.activityID) == [shown.id])
            }
            #expect(renewals == [7.5, 15])
        }
    }
}
