import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// Everything stored about an alias, an installation or a user can be erased, and does not come back.
@Suite(.timeLimit(.minutes(15))) struct ErasureTests {
    private static let user = Alias.sample("userId", "erased-person")
    private static let order = Alias.sample("orderId", "erased-order")
    private static let installation = InstallationHash.sample(0xE7)
    private static let ended = ActivityID.sample("erased-ended")
    private static let subject: UTF8Text = "erased-subject"
    private static let who = AuditName.user(subject)
    private let activity: TestActivity

    init() async throws { activity = try await TestActivity.make("erased-activity") }

    /// Texts that must be gone: names, and the bytes of the installation's hash and of tokens in hex.
    private static let needles =
        ["erased-", Hexadecimal.encode(installation.bytes)]
        + [7002, 7004].map { Hexadecimal.encode(PushToken.sample($0).bytes) }

    private func live() async throws {
        let (registry, scope) = (activity.registry, activity.scope)
        for (id, token, minutes) in [(activity.id, 7001, 10), (activity.id, 7002, 9), (Self.ended, 7003, 8)] {
            _ = try await registry.register(Self.registration(token, minutes), as: id, in: scope, by: Self.who)
        }
        try await registry.end(Self.ended, reason: .ended, observedAt: .minutesAgo(7), in: scope, by: Self.who)
        _ = try await registry.register(
            Self.registration(7004, 6),
            alias: "erased-match",
            owner: .installation(Self.installation),
            in: scope,
            by: Self.who
        )
        let state = FullState(observedAt: .minutesAgo(5), items: [])
        _ = try await registry.apply(state, of: Self.installation, in: scope, by: Self.who)
        try await activity.another("bystander").register(8001, at: .minutesAgo(5), aliases: [.sample("orderId", "1")])
    }

    private static func registration(_ token: Int, _ minutes: Int) -> ActivityRegistration {
        var registration = ActivityRegistration.sample(
            token: .sample(token),
            observedAt: .minutesAgo(Double(minutes)),
            installation: installation,
            aliases: [user, order]
        )
        registration.subject = subject
        registration.metadata = try? Metadata(.object(["note": "erased-note"]))
        return registration
    }

    @Test(arguments: [ErasureSubject.alias(user), .installation(installation), .subject(subject)])
    func `A dump contains no erased data`(erased: ErasureSubject) async throws {
        try await live()
        // The control: everything is there at first.
        let before = try await activity.dump()
        for needle in Self.needles { #expect(before.contains(needle), "\(needle)") }
        let counts = try await activity.erase(erased)
        #expect(counts.activities == 3)
        #expect(counts.events > 0)
        let after = try await activity.dump()
        for needle in Self.needles {
            // The row of the installation stays, with a time and without names.
            let found = after.lines(with: needle).filter {
                erased == .installation(Self.installation) || !$0.hasPrefix("installations ")
            }
            #expect(found == [], "\(needle)")
        }
        #expect(try await activity.another("bystander").currentToken() == .sample(8001))
        #expect(try await activity.count("SELECT count(*) FROM events WHERE type = 'erased'") > 0)
    }

    @Test(arguments: [ErasureSubject.alias(user), .subject(subject)])
    func `Activities without erased names stay ended or dismissed`(erased: ErasureSubject) async throws {
        let (phone, match) = (activity.installation(7).asUser(Self.subject), Alias.sample("matchId", "1"))
        try await phone.logOut(at: .minutesAgo(8))
        let late = activity.another("late")
        _ = await late.problem {
            try await late.register(1, at: .minutesAgo(9), installation: phone.hash, aliases: [match])
        }
        try await activity.register(2, at: .minutesAgo(6), installation: phone.hash, aliases: [match])
        try await phone.put([Self.user], at: .minutesAgo(5))
        try await activity.tellFullState(of: phone.hash, at: .minutesAgo(4))
        try await activity.erase(erased)
        #expect(try await activity.record()?.status.state == .dismissed)
        #expect(try await late.record()?.status.state == .ended)
        #expect(try await activity.tokens(match) == [])
        let dump = try await activity.dump()
        #expect(!dump.contains("erased-person") && !dump.contains("erased-subject"))
        // A repetition ends, although the row stays.
        try await activity.erase(.installation(phone.hash))
    }

    @Test(arguments: [ErasureSubject.alias(user), .installation(installation), .subject(subject)])
    func `Old requests restore no erased data`(erased: ErasureSubject) async throws {
        let (registry, scope) = (activity.registry, activity.scope)
        try await live()
        try await activity.erase(erased)
        let before = try await activity.dump()
        // Repeats all earlier requests, and adds a request that was made before the erasure and arrives after it.
        for (id, token, minutes) in [("erased-activity", 7001, 10), ("erased-ended", 7003, 8), ("never-seen", 7009, 5)]
        {
            let problem = await activity.problem {
                try await registry.register(Self.registration(token, minutes), as: .sample(id), in: scope, by: "x")
            }
            #expect(problem?.code == .activityEnded, "\(id)")
        }
        let byAlias = await activity.problem {
            try await registry.register(
                Self.registration(7004, 6),
                alias: "erased-match",
                owner: .installation(Self.installation),
                in: scope,
                by: "x"
            )
        }
        #expect(byAlias?.code == .activityEnded)
        try await registry.end(activity.id, reason: .ended, observedAt: nil, in: scope, by: "x")
        #expect(try await activity.dump().contains("erased-") == before.contains("erased-"))
        #expect(try await registry.activity(activity.id, in: scope) == nil)
        #expect(try await registry.activities(under: Self.user, limit: 10, in: scope) == [])
    }

    /// An installation's aliases and tokens have no lifetime.
    @Test func `An old erasure still refuses a phone's old requests`() async throws {
        let phone = activity.installation(0xE7)
        try await phone.put([Self.user], at: .minutesAgo(20))
        try await phone.erase(.alias(Self.user))
        try await phone.database.run("UPDATE erasures SET erased_at = earlier(erased_at, '300 days')")
        let before = Date.minutesAgo(301 * 24 * 60)
        #expect(await phone.problem { try await phone.put([Self.user], at: before) }?.code == .activityEnded)
        #expect(await phone.problem { try await phone.register(1, at: before) }?.code == .activityEnded)
        try await phone.put([Self.user], at: .minutesAgo(1))
    }

    @Test func `No row keeps a replaced alias`() async throws {
        let phone = activity.installation(1)
        try await activity.register(1, at: .minutesAgo(5), aliases: [Self.user])
        try await activity.register(1, at: .minutesAgo(4), aliases: [.sample("orderId", "1")])
        try await phone.put([Self.user], at: .minutesAgo(5))
        try await phone.put([.sample("deviceName", "1")], at: .minutesAgo(4))
        let identity = activity.identity("match-1")
        try await identity.post(2, at: .minutesAgo(5), aliases: [Self.user])
        try await identity.post(3, at: .minutesAgo(4), aliases: [.sample("orderId", "1")])
        let tables = { (dump: String) in
            Set(dump.lines(with: "erased-person").map { $0.prefix { $0 != " " } }.filter { !$0.hasPrefix("event") })
        }
        #expect(try await tables(activity.dump()) == [])
        try await activity.erase(.alias(Self.user))
        #expect(try await activity.dump().lines(with: "erased-person") == [])
        #expect(try await activity.tokens(.sample("orderId", "1")).count == 2)
    }

    @Test func `Earlier activities of an alias are erased, and its current one stays`() async throws {
        let identity = activity.identity("match-1")
        try await identity.post(1, at: .minutesAgo(5), aliases: [Self.user])
        try await activity.age(by: "9 hours")
        try await identity.post(2, at: .minutesAgo(1))
        #expect(try await identity.erase(.alias(Self.user)).activities == 1)
        #expect(try await activity.dump().lines(with: "erased-person") == [])
        #expect(try await identity.tokens() == [.sample(2)])
    }

    @Test func `A token forgets its erased former owner`() async throws {
        let phone = activity.installation(0xE7)
        try await phone.register(1, in: TestInstallation.device, at: .minutesAgo(5))
        try await phone.another(2).register(1, in: TestInstallation.device, at: .minutesAgo(4))
        let needle = Hexadecimal.encode(phone.hash.bytes)
        #expect(try await activity.dump().lines(with: needle) != [])
        try await activity.erase(.installation(phone.hash))
        #expect(try await activity.dump().lines(with: needle) == [])
    }

    /// Followers of the feed can drop the data before the whole trail is redacted.
    @Test func `The first deletion writes the event of the erasure in the same transaction`() async throws {
        try await live()
        try await activity.erase(.installation(Self.installation))
        let together: SQL = """
            SELECT count(*) FROM events e WHERE e.type = 'erased'
                AND EXISTS (SELECT FROM erasures r WHERE r.scope_id = e.scope_id AND r.xmin = e.xmin)
            """
        #expect(try await activity.count(together) == 2)
    }

    @Test func `The phones of a user are erased with the user`() async throws {
        let phone = activity.installation(0xE7)
        let user = phone.asUser(Self.subject)
        try await user.put(
            [.sample("deviceName", "erased-phone")],
            metadata: ["note": "erased-note"],
            at: .minutesAgo(9)
        )
        try await user.register(7002, at: .minutesAgo(9))
        try await user.register(7004, in: TestInstallation.device, at: .minutesAgo(9))
        let other = phone.another(3).asUser("someone")
        try await other.register(8001, at: .minutesAgo(9))
        for needle in Self.needles { #expect(try await activity.dump().contains(needle), "\(needle)") }
        #expect(try await phone.erase(.subject(Self.subject)).records > 4)
        for needle in Self.needles { #expect(try await activity.dump().lines(with: needle) == [], "\(needle)") }
        for caller in [user, phone.asClient, phone] {
            let late = await phone.problem { try await caller.register(7002, at: .minutesAgo(9)) }
            #expect(late?.code == .activityEnded)
            #expect(await phone.problem { try await caller.put([], at: .minutesAgo(9)) }?.code == .activityEnded)
        }
        // The user's old requests are also refused on another phone.
        let second = phone.another(4).asUser(Self.subject)
        #expect(await phone.problem { try await second.register(7002, at: .minutesAgo(9)) }?.code == .activityEnded)
        #expect(try await phone.record() == nil)
        #expect(try await other.token() == .sample(8001))
        #expect(try await phone.asUser("someone").register(7005, at: .minutesAgo(-1)).outcome == .registered)
    }

    @Test func `An erasure also removes the data of concurrent requests`() async throws {
        for round in 0..<20 {
            let alias = Alias.sample("userId", "erased-\(round)")
            let observedAt = Date.minutesAgo(1)
            async let erasure = activity.erase(.alias(alias))
            try await concurrently(0..<8) { task in
                for number in 0..<5 {
                    let id = activity.another("r\(round)-\(task)-\(number)")
                    _ = await id.problem {
                        try await id.register(round * 100 + task * 5 + number, at: observedAt, aliases: [alias])
                    }
                }
            }
            _ = try await erasure
            #expect(try await activity.found(under: alias) == [])
        }
        #expect(try await activity.count("SELECT count(*) FROM activities WHERE aliases IS NOT NULL") == 0)
    }
}

extension TestActivity {
    fileprivate func dump() async throws -> String {
        let tables = try await column(
            """
            SELECT c.relname::text FROM pg_class c
            WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
            """
        )
        return try await database.pool.withSession { session in
            var text = ""
            for table in tables {
                let rows = try session.execute("SELECT t::text FROM \(unescaped: table) t").rows
                for row in rows { text += try "\(table) \(row.decode(String.self))\n" }
            }
            return text
        }
    }
}

extension String {
    fileprivate func lines(with needle: String) -> [Substring] { split(separator: "\n").filter { $0.contains(needle) } }
}
