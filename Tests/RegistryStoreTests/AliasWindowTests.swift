import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// The registrations of one (liveactivityId, owner) that are kept, and what follows for those that come late.
@Suite struct AliasWindowTests {
    private let t0 = Date.minutesAgo(7 * 60)
    private static let most = AliasTimeline.mostRegistrations

    private func after(_ minutes: Double) -> Date { t0.addingTimeInterval(minutes * 60) }

    private func entry(_ minute: Double, _ id: String?, startedAt: Double? = nil) -> AliasTimeline.Registration {
        AliasTimeline.Registration(
            observedAt: after(minute),
            tokenDigest: [UInt8(minute)],
            startedAt: after(startedAt ?? minute),
            activityID: id.map { .sample($0) }
        )
    }

    @Test("The first registration keeps the start of its activity")
    func theFirstRegistrationKeepsTheStartOfItsActivity() {
        let entries = [entry(1, "a"), entry(2, "a"), entry(3, "a"), entry(130, "b")]
        let timeline = AliasTimeline(entries.reversed(), after: nil, lifetime: .seconds(7200))
        #expect(timeline.generations.map(\.registrations.count) == [3, 1])
        #expect(timeline.surplus == entry(2, "a"))
        let alone = AliasTimeline(
            [entry(1, "a"), entry(130, "b"), entry(131, "b")],
            after: nil,
            lifetime: .seconds(7200)
        )
        #expect(alone.surplus == entry(1, "a"))
        #expect(AliasTimeline([], after: nil, lifetime: .seconds(60)).surplus == nil)
    }

    /// A caller who confirms a token every two minutes has one activity, until its lifetime is over, and then the next.
    @Test("Frequent registrations stay one activity") func frequentRegistrationsStayOneActivity() async throws {
        let identity = try await TestIdentity.make(lifetime: .seconds(5 * 3600))
        var ids: [ActivityID] = []
        for minute in stride(from: 0.0, to: 400, by: 2) {
            let token = Int(minute) / 100
            if let answer = try? await identity.post(token, at: after(minute)) {
                ids.append(answer.activity.activityID)
            }
        }
        // The first one expired after five hours, by what was said; no answer but that of the next one has come since.
        #expect(Set(ids).count == 1)
        #expect(try await identity.tokens() == [.sample(3)])
        #expect(try await identity.starts() == [after(300)])
        #expect(try await identity.kept() == Self.most)
    }

    @Test("Late end divides what is kept") func lateEndDividesWhatIsKept() async throws {
        let identity = try await TestIdentity.make()
        for minute in 1...100 { try await identity.post(minute, at: after(Double(minute))) }
        #expect(try await identity.kept() == Self.most)
        try await identity.end(at: after(90.5))
        #expect(try await identity.tokens() == [.sample(100)])
        #expect(try await identity.starts() == [after(91)])
        // A token that fell out does not come back without a time.
        let retired = await identity.problem { try await identity.post(20) }
        #expect(retired?.code == .superseded)
        // Where more than are kept came since, the next activity starts with the first one that is kept.
        for minute in 101...200 { try await identity.post(minute, at: after(Double(minute))) }
        try await identity.end(at: after(110.5))
        #expect(try await identity.tokens() == [.sample(200)])
        #expect(try await identity.starts() == [after(Double(200 - Self.most + 2))])
        #expect(try await identity.rows() <= Self.most + AliasIdentityStatements.mostDigests)
    }

    @Test("A registration that is too late begins nothing") func whatIsTooLateBeginsNothing() async throws {
        let identity = try await TestIdentity.make(lifetime: .seconds(3600))
        let first = Date.minutesAgo(50)
        for minute in 0..<40 { try await identity.post(minute, at: first.addingTimeInterval(Double(minute) * 60)) }
        for _ in 0..<2 {
            let late = await identity.problem { try await identity.post(99, at: first.addingTimeInterval(-7200)) }
            #expect(late?.code == .superseded)
        }
        #expect(try await identity.tokens() == [.sample(39)])
        #expect(try await identity.activities() == 1)
    }

    @Test("Repetitions keep the window") func repetitionsKeepTheWindow() async throws {
        let identity = try await TestIdentity.make()
        for minute in 1...Self.most { try await identity.post(minute, at: after(Double(minute))) }
        for minute in [1, 2, Self.most / 2, Self.most] {
            _ = try? await identity.post(minute, at: after(Double(minute)))
            #expect(try await identity.kept() == Self.most)
        }
        #expect(try await identity.tokens() == [.sample(Self.most)])
    }
}

extension TestIdentity {
    fileprivate static func make(lifetime: Duration) async throws -> TestIdentity {
        let database = try await TestDatabase.make()
        var changes = AppChanges()
        changes.activityLifetime = lifetime
        let scope = try await database.scope("com.example.food", .sandbox, changes)
        return TestIdentity(database: database, scope: scope, alias: UTF8Text(UUID().uuidString))
    }

    /// How many registrations are kept whole, and how many rows there are.
    fileprivate func kept() async throws -> Int {
        try await count("SELECT count(*) FROM alias_registrations WHERE token IS NOT NULL AND alias = ")
    }

    fileprivate func rows() async throws -> Int {
        try await count("SELECT count(*) FROM alias_registrations WHERE alias = ")
    }

    fileprivate func activities() async throws -> Int {
        try await count("SELECT count(*) FROM activities WHERE '' <> ")
    }

    private func count(_ text: String) async throws -> Int {
        try await database.count("\(unescaped: text)\(alias)")
    }

    /// When what is handed out started.
    fileprivate func starts() async throws -> [Date] { try await view().map(\.startedAt) }
}
