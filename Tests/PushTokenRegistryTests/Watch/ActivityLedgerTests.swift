import Foundation
import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

/// C2, C5, C6, C8: decisions about activities.
@Suite struct ActivityLedgerTests {
    private static let token = Data("aa".utf8)

    private static func ledger(_ phase: ActivityPhase = .active) -> PlayedLedger {
        let ledger = PlayedLedger()
        ledger.see("a-1", phase)
        return ledger
    }

    @Test func `C2: a repeated token is skipped`() {
        let ledger = Self.ledger()
        #expect(ledger.takes(Self.token, of: "a-1"))
        #expect(!ledger.takes(Self.token, of: "a-1"))
        #expect(ledger.takes(Data("bb".utf8), of: "a-1"))
        #expect(ledger.takes(Self.token, of: "a-1"), "it has changed back")
        #expect(!ledger.takes(Self.token, of: "unseen"))
    }

    @Test func `C5: an activity that is over reports no token and no second end`() {
        let ledger = PlayedLedger()
        ledger.see("a-1", .ended)
        #expect(!ledger.takes(Self.token, of: "a-1"))
        #expect(ledger.end(by: .dismissed, of: "a-1") == nil)
        #expect(ledger.end(by: .active, of: "a-1") == nil)
        #expect(!ledger.takes(Self.token, of: "a-1"), "over is final")
    }

    @Test func `C6: the first final state decides, and nothing follows it`() {
        let ledger = Self.ledger()
        #expect(ledger.end(by: .stale, of: "a-1") == nil)
        #expect(ledger.end(by: .ended, of: "a-1") == .end(activityID: "a-1", isDismissal: false))
        #expect(ledger.end(by: .dismissed, of: "a-1") == nil)
        #expect(!ledger.takes(Self.token, of: "a-1"))
    }

    @Test func `C6: a dismissal counts as the user's unless the app announced the end`() {
        let (ledger, other) = (Self.ledger(), Self.ledger())
        #expect(ledger.end(by: .dismissed, of: "a-1") == .end(activityID: "a-1", isDismissal: true))
        other.endsHere("a-1")
        #expect(other.end(by: .dismissed, of: "a-1") == .end(activityID: "a-1", isDismissal: false))
    }

    @Test func `C8: the newest of three stays, and an activity that the app ends is not ended again`() {
        let ledger = Self.ledger()
        for number in 2...3 {
            ledger.see("a-\(number)", .stale, at: number)
        }
        #expect(ledger.duplicates().isEmpty, "the newest has no token yet")
        #expect(ledger.takes(Self.token, of: "a-3"))
        #expect(ledger.duplicates() == ["a-1", "a-2"])
        ledger.endsHere("a-1")
        #expect(ledger.duplicates() == ["a-2"])
        ledger.endsHere("a-3")
        #expect(ledger.duplicates().isEmpty, "the older one is all that will be left")
    }
}

/// A class, so that `#expect` can call the ledger's mutating methods.
private final class PlayedLedger {
    private var ledger = ActivityLedger()

    func see(_ id: String, _ phase: ActivityPhase, at seconds: Int = 1) {
        ledger.see(FakeActivity(id, "order-1", phase: phase), of: FakeType(), at: .seconds(seconds))
    }

    func takes(_ token: Data, of id: String) -> Bool { ledger.takes(token, of: id) }
    func end(by phase: ActivityPhase, of id: String) -> Report? { ledger.end(by: phase, of: id) }
    func endsHere(_ id: String) { ledger.endsHere(id) }
    func duplicates() -> [String] { ledger.duplicates() }
}
