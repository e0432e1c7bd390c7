import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules
import RegistryStore
import TestSupport
import Testing

/// `pushreg import` applies the rules to the records that `pushreg export` writes.
@Suite(.transferToTarget, .timeLimit(.minutes(15))) struct TransferTests {
    @Test func `An import restores every exported fact`() async throws {
        for database in [database, target] { _ = try await database.scope("com.example.food", .sandbox, Life.settings) }
        try await Life.live(in: database.registry, database.scope())
        let (first, second) = (file, try TransferFile())
        defer { second.remove() }
        try await first.export(from: database)
        #expect(first.records.count == 20, "\(first.text)")
        try await first.load(into: target, gives: 0, "20 taken, 0 refused")
        try await second.export(from: target)
        #expect(second.records == first.records)
        let events = try await target.count("SELECT count(*) FROM events")
        try await first.load(into: target)
        #expect(try await target.count("SELECT count(*) FROM events") == events)
        try FileManager.default.removeItem(atPath: second.path)
        try await second.export(from: target)
        #expect(second.records == first.records)
        for alias in ["both", "rotated", "name", "phone", "start"] {
            #expect(try await Self.tokens(alias, database) == Self.tokens(alias, target))
        }
        #expect(try await Self.tokens("both", target).count == 2)
        let scope = try await target.scope()
        let scheduled = try await target.registry.activities(under: .sample("testId", "late"), limit: 9, in: scope)
        let start = try #require(scheduled.first?.startsAt)
        #expect(scheduled.first?.expiresAt == start.addingTimeInterval(8 * 3600))
    }

    @Test(arguments: [[], ["--restart"]])
    func `An import does not overwrite another file at the progress path`(flags: [String]) async throws {
        try await file.export(from: database)
        try file.write(file.text + "\n")
        let theirs = "yesterday's export\n"
        try theirs.write(toFile: file.progress, atomically: true, encoding: .utf8)
        try await file.load(into: database, flags, gives: 64, "Move it, because")
        #expect(try String(contentsOfFile: file.progress, encoding: .utf8) == theirs)
    }

    @Test func `Only its owner can read an export`() async throws {
        try await file.export(from: database)
        #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int == 0o600)
    }

    @Test func `An export does not overwrite a file or device`() async throws {
        try file.write("a diary\n")
        chmod(file.path, 0o644)
        for path in [file.path, "/dev/null"] {
            let flags = ["--output", path] + database.flags
            try await Program.run(["export"] + TransferFile.scope + flags, gives: 64, "\(path) already exists")
        }
        #expect(file.text == "a diary\n")
        #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int == 0o644)
    }

    @Test func `An import keeps newer facts`() async throws {
        let (scope, theirs) = (try await database.scope(), try await target.scope())
        for (id, number) in [("ended", 1), ("rotated", 2), ("fresh", 3)] {
            try await database.registry.registerSample(id, token: number, minutesAgo: 10, in: scope)
        }
        try await target.registry.registerSample("rotated", token: 9, minutesAgo: 5, in: theirs)
        try await target.registry.end(.sample("ended"), reason: .ended, observedAt: nil, in: theirs, by: "test")
        try await file.export(from: database)
        let outcome = try await file.load(into: target)
        #expect(outcome.results == #"{"taken":1,"refused":{"activity-ended":1,"superseded":1},"faulty":0}"# + "\n")
        #expect(outcome.words.contains("line 2: activity-ended: "))
        #expect(outcome.words.contains("line 3: superseded: "))
        let ended = try await target.registry.activity(.sample("ended"), in: theirs)
        #expect(ended?.status.state == .ended)
        #expect(ended?.token == nil)
        #expect(try await target.registry.activity(.sample("rotated"), in: theirs)?.token == .sample(9))
        #expect(try await target.registry.activity(.sample("fresh"), in: theirs)?.token == .sample(3))
    }

    @Test func `An import does not mix environments or apps`() async throws {
        try await file.export(from: database)
        let elsewhere = ["import", "com.example.food", "production", file.path] + database.flags
        try await Program.run(elsewhere, gives: 64, "export of com.example.food in sandbox")
    }

    private static let secret = "00112233445566778899aabbccddeeff"

    @Test func `Faults are reported by line without their tokens`() async throws {
        let scope = try await database.scope()
        let (secret, at) = (Self.secret, RFC3339.format(.minutesAgo(5)))
        let lines = [
            #"{"activityId":"good","token":"\#(secret)","observedAt":"\#(at)"}"#,
            #"{"activityId":"a","token":"\#(secret)","observedAt":"\#(at)""#,
            #"{"activityId":"a","token":"\#(secret)"}"#,
            #"{"activityId":"a","token":"\#(secret)x","observedAt":"\#(at)"}"#,
            #"{"activityId":"a","observedAt":"\#(at)","aliases":{"a\#(secret)":5}}"#,
            #"{"token":"\#(secret)","observedAt":"\#(at)"}"#,
            #"{"record":"\#(secret)","observedAt":"\#(at)","installationId":"x"}"#,
            #"{"record":"device-token","token":"\#(secret)","observedAt":"\#(at)"}"#,
            #"{"activityId":"a","token":"\#(secret)","observedAt":"2999-01-01T00:00:00Z"}"#,
            #"["\#(secret)"]"#,
            String(repeating: secret, count: 3000),
            "",
            #"{"activityId":"last","token":"\#(secret)00","observedAt":"\#(at)","installationId":"x"}"#,
        ]
        try file.write(lines.joined(separator: "\n"))
        let outcome = try await file.load(into: database, gives: 1)
        let reasons = [
            2: "not JSON", 3: "\"observedAt\" is required", 4: "\"token\" must be", 5: "\"aliases\"",
            6: "\"activityId\" is required if alias is omitted", 7: "\"record\" must have a known kind",
            8: "\"installation\" is required", 9: "clock-skew", 10: "must be an object", 11: "longer than 64 KiB",
        ]
        let said = outcome.words.split(separator: "\n")
        #expect(said.filter { $0.hasPrefix("line ") }.count == reasons.count, "\(outcome.words)")
        for (number, reason) in reasons {
            let isSaid = said.contains { $0.hasPrefix("line \(number): ") && $0.contains(reason) }
            #expect(isSaid, "\(number) \(outcome.words)")
        }
        #expect(!(outcome.words + outcome.results).contains(secret))
        #expect(outcome.results.contains(#""taken":2"#))
        #expect(outcome.results.contains(#""faulty":10"#))
        #expect(try await database.registry.activity(.sample("good"), in: scope)?.token != nil)
        #expect(try await database.registry.activity(.sample("last"), in: scope)?.installation != nil)
    }

    @Test func `An export file without its end is reported as incomplete`() async throws {
        try await database.registry.registerSample("a", token: 1, minutesAgo: 5, in: database.scope())
        try await file.export(from: database)
        try await file.load(into: database)
        try file.write(file.text.split(separator: "\n").dropLast().joined(separator: "\n"))
        #expect(try await file.load(into: database, gives: 1, "incomplete").results.contains(#""taken":1"#))
    }

    @Test func `Progress is shown on terminals only`() async throws {
        try await database.registry.registerSample("a", token: 1, minutesAgo: 5, in: database.scope())
        #expect(try await file.export(from: database).words == "Exported 1 record.\n")
        let command =
            "\(Program.executable.path) import com.example.food sandbox \(file.path) --unsafe-durability"
            + " --database-url \"\(database.connectionString)\""
        let shown = try await Program.run("/usr/bin/script", ["-qec", command, "/dev/null"]).results
        #expect(shown.contains("100 %, line 3, 1 records"), "\(shown)")
        #expect(shown.contains("Imported 1 record: 1 taken"), "\(shown)")
    }

    private static func tokens(_ value: String, _ database: TestDatabase) async throws -> Set<PushToken> {
        let scope = try await database.scope()
        var found: Set<PushToken> = []
        for kind in ["testId", Alias.liveActivityKind.string] {
            let alias = Alias.sample(kind, value)
            let activities = try await database.registry.activities(under: alias, after: 0, limit: 10, in: scope)
            found.formUnion(activities.map(\.token))
            for tokenKind in scope.app.settings.allTokenKinds where tokenKind != .update {
                let tokens = try await database.registry.tokens(under: alias, tokenKind, limit: 10, in: scope)
                found.formUnion(tokens.map(\.token))
            }
        }
        return found
    }
}

/// An app with a record of each kind that an export writes or omits.
private enum Life {
    /// The settings of a custom kind of tokens.
    static let settings = {
        var changes = AppChanges()
        changes.tokenKinds = [TokenKind(name: "card", holder: .attributesType, topicSuffix: "", pushType: "background")]
        return changes
    }()

    static func live(in registry: Registry, _ scope: Scope) async throws {
        try await activities(registry, scope)
        try await names(registry, scope)
        try await installations(registry, scope)
    }

    private static func activities(_ registry: Registry, _ scope: Scope) async throws {
        func register(_ id: String, _ number: Int, minutesAgo: Double, alias: String? = nil) async throws {
            var registration = ActivityRegistration.sample(
                token: .sample(number),
                observedAt: .minutesAgo(minutesAgo),
                startedAt: .minutesAgo(90),
                installation: .sample(number),
                aliases: alias.map { [.sample("testId", $0)] },
                attributesType: "Delivery"
            )
            registration.metadata = try Metadata(.object(["round": .integer(1)]))
            _ = try await registry.register(registration, as: .sample(id), in: scope, by: "test")
        }
        try await register("plain", 1, minutesAgo: 30, alias: "both")
        try await register("rotated", 2, minutesAgo: 30, alias: "rotated")
        // The aliases stay unchanged: two lines.
        try await registry.registerSample("rotated", token: 3, minutesAgo: 20, in: scope)
        // Without times, its lifetime counts from the receipt, which has microseconds.
        let received = ActivityRegistration.sample(token: .sample(4), aliases: [.sample("testId", "both")])
        _ = try await registry.register(received, as: .sample("received"), in: scope, by: "test")
        // Registered long before it starts.
        let alias = [Alias.sample("testId", "late")]
        var scheduled = ActivityRegistration.sample(token: .sample(8), observedAt: .minutesAgo(1200), aliases: alias)
        (scheduled.startsAt, scheduled.wasAccepted) = (.minutesAgo(-5 * 60), true)
        _ = try await registry.register(scheduled, as: .sample("scheduled"), in: scope, by: "test")
        try await register("ended", 5, minutesAgo: 30)
        try await registry.end(.sample("ended"), reason: .dismissed, observedAt: .minutesAgo(5), in: scope, by: "test")
        try await registry.end(.sample("unknown"), reason: .ended, observedAt: .minutesAgo(5), in: scope, by: "test")
        // The activity runs and waits for another token.
        try await register("dead", 6, minutesAgo: 30, alias: "dead")
        let death = FeedbackReport(token: .sample(6), status: 410, reason: "Unregistered")
        _ = try await registry.apply([death], in: scope, by: "test")
        let (late, start) = (Date.minutesAgo(60), Date.minutesAgo(500))
        let expired = ActivityRegistration.sample(token: .sample(7), observedAt: late, startedAt: start)
        _ = try? await registry.register(expired, as: .sample("expired"), in: scope, by: "test")
    }

    private static func names(_ registry: Registry, _ scope: Scope) async throws {
        for (alias, number, owner) in [
            ("name", 11, ActivityOwner.app), ("phone", 12, .installation(.sample(12))), ("over", 13, .app),
        ] {
            let token = ActivityRegistration.sample(token: .sample(number), observedAt: .minutesAgo(30))
            _ = try await registry.register(token, alias: UTF8Text(alias), owner: owner, in: scope, by: "test")
        }
        let time = Date.minutesAgo(10)
        try await registry.end(alias: "over", owner: .app, reason: .ended, observedAt: time, in: scope, by: "test")
    }

    private static func installations(_ registry: Registry, _ scope: Scope) async throws {
        let phone = InstallationHash.sample(21)
        var profile = InstallationProfile(observedAt: .minutesAgo(30))
        profile.aliases = try AliasSet([.sample("testId", "start")])
        let claimant = Claimant.subject("anna", phone)
        _ = try await registry.put(profile, for: phone, in: scope, by: "test", claimant: claimant)
        let type = try AttributesType("Delivery")
        let own = try #require(scope.app.settings.tokenKinds.first)
        let slots: [(TokenSlot, Int)] = [
            (.start(type), 22), (.only(.device), 23), (.only(.widget), 25), (.only(.voip), 26),
            (TokenSlot(of: own, type), 27),
        ]
        for (slot, number) in slots {
            let registration = TokenRegistration(token: .sample(number), observedAt: .minutesAgo(25))
            _ = try await registry.register(registration, in: slot, of: phone, in: scope, by: "test")
        }
        let (tablet, device) = (InstallationHash.sample(28), TokenRegistration(token: .sample(28), observedAt: nil))
        let berta = Claimant.subject("berta", tablet)
        _ = try await registry.register(device, in: .only(.device), of: tablet, in: scope, by: "test", claimant: berta)
        try await registry.logOut(.sample(24), observedAt: .minutesAgo(15), in: scope, by: "test")
    }
}
