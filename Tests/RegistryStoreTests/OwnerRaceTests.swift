import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules
import RegistryStore
import TestSupport
import Testing

/// Users race for a record at two instances. `OwnerMatrix` has the rules about owners.
@Suite(.timeLimit(.minutes(15))) struct OwnerRaceTests {
    private static let rounds = TestScale.isLong ? 400 : 25
    private static let users = 6
    private let t0 = Date.minutesAgo(60)

    /// - Returns: the users with a call that was not refused as another user's.
    private func winners(
        tries: Int = 1,
        _ call: @escaping @Sendable (_ user: Int, _ number: Int) async throws -> Void
    ) async throws -> [Int] {
        try await withThrowingTaskGroup(of: Int?.self) { group in
            for user in 0..<Self.users {
                group.addTask {
                    var winner: Int?
                    for number in 0..<tries {
                        do {
                            try await call(user, number)
                            winner = user
                        } catch let problem as Problem where problem.code == .notYours { continue }
                    }
                    return winner
                }
            }
            return try await group.compactMap(\.self).reduce(into: []) { $0.append($1) }
        }
    }

    @Test(arguments: [true, false])
    func `One of many racing users becomes the owner of an activity`(isTimed: Bool) async throws {
        let root = try await TestActivity.make()
        let instances = [root, root.elsewhere()]
        for round in 0..<Self.rounds {
            let activities = instances.map { $0.another("contested-\(round)") }
            let winners = try await winners(tries: 3) { user, number in
                let (claimant, token) = (Claimant.subject(UTF8Text("u-\(user)"), nil), number * 10 + user)
                let time = isTimed ? t0 + Double(token) : nil
                try await activities[user % 2].register(round * 100 + token, at: time, claimant: claimant)
            }
            try #require(winners.count == 1)
            #expect(try await activities[0].currentToken() == .sample(round * 100 + 20 + winners[0]))
            #expect(try await activities[0].events() == ["registered", "rotated", "rotated"])
        }
    }

    @Test(arguments: [true, false])
    func `One of many racing users becomes the owner of an installation`(isTimed: Bool) async throws {
        let root = try await TestInstallation.make()
        let databases = [root.database, root.database.on(root.database.anotherRegistry())]
        for round in 0..<Self.rounds {
            let phones = databases.map {
                TestInstallation(database: $0, scope: root.scope, hash: .sample(round + 1))
            }
            let winners = try await winners { user, _ in
                let phone = phones[user % 2].asUser(UTF8Text("u-\(user)"))
                try await phone.register(round * 10 + user, at: isTimed ? t0 + Double(user) : nil)
            }
            try #require(winners.count == 1)
            #expect(try await phones[0].token() == .sample(round * 10 + winners[0]))
            #expect(try await phones[0].record()?.subject == UTF8Text("u-\(winners[0])"))
            #expect(try await phones[0].events() == ["registered"])
        }
    }

    @Test func `Concurrent takeovers lead to one owner`() async throws {
        let root = try await TestInstallation.make()
        for round in 0..<Self.rounds {
            let phone = root.another(round + 1)
            _ = try await winners { user, _ in
                let (name, time) = ("u-\(user)", t0 + Double(user))
                _ = await phone.problem {
                    try await phone.asUser(UTF8Text(name)).put([.sample("userId", name)], at: time)
                }
            }
            #expect(try await phone.record()?.subject == "u-5")
            #expect(try await phone.record()?.aliases == Array(#"{"userId": ["u-5"]}"#.utf8))
            let rows: SQL = "SELECT value FROM installation_aliases WHERE installation_hash = \(phone.hash.bytes)"
            #expect(try await phone.column(rows) == ["u-5"])
        }
    }
}
