import Crypto
import Foundation
import HTTPTypes
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// `audit/explain` and the console state each reason to withhold a token in one sentence.
@Suite(.service, .timeLimit(.minutes(15))) struct TokenAvailabilityTests {
    enum Keeping: String, Sendable, CaseIterable {
        case activity, start, device

        var list: String { self == .activity ? "activities" : "\(rawValue)-tokens" }
    }

    private static let bearers = "…/audit/explain?kind=liveactivityId&value=\(Life.alias)"
    private static let page = "…/aliases/liveactivityId/\(Life.alias)"

    /// The beginning of the sentence; nil if this kind cannot have this availability.
    private static func words(_ availability: TokenAvailability, _ keeping: Keeping) -> String? {
        switch availability {
        case .handedOut: "Senders get it."
        case .ended: keeping == .activity ? "The activity was ended at" : nil
        case .expired: keeping == .activity ? "The activity's lifetime ended at" : nil
        case .dismissed: keeping == .activity ? "The full state of its installation at" : nil
        case .noToken: keeping == .activity ? "It has no token yet" : nil
        case .channel: keeping == .activity ? "It has no token; the broadcast channel" : nil
        case .noPush: keeping == .activity ? "It gets no token; its app alone" : nil
        case .loggedOut: "Its installation logged out at"
        // Several installations may share a start token.
        case .takenOver: keeping == .start ? nil : "Another activity or installation registered the token later at"
        // A device token wins over every other kind.
        case .kindConflict: keeping == .device ? nil : "The value was registered as a token of another kind at"
        case .unregistered: "APNs reported the token as dead at"
        case .quarantined: "A sender reported BadDeviceToken at"
        case .purged: "An admin purged registrations up to"
        // An activity's token is deleted by the activity's end.
        case .deleted: keeping == .activity ? nil : "The app deleted it at"
        }
    }

    @Test(arguments: TokenAvailability.allCases, Keeping.allCases)
    func `Every withholding reason has one sentence`(availability: TokenAvailability, keeping: Keeping) async throws {
        guard let words = Self.words(availability, keeping) else { return }
        let (life, browser) = (Life(), ConsoleBrowser())
        try await Provocation(life: life, keeping: keeping).provoke(availability)
        let explained = try await server.call(.get, Self.bearers)
        let found = explained[keeping == .activity ? "activities" : "tokens"][0]
        #expect(found["reason"] == .string(availability.rawValue))
        #expect(found["handedOut"] == .bool(availability == .handedOut))
        let sentence = try #require(found["detail"]?.string, "\(explained.json)")
        #expect(sentence.hasPrefix(words) && sentence.hasSuffix("."), "\(sentence)")
        #expect(!sentence.dropLast().contains(". "), "more than one sentence: \(sentence)")
        let list = try await server.call(.get, "…/aliases/liveactivityId/\(Life.alias)/\(keeping.list)")
        #expect((list.text.contains("\"token\"")) == (availability == .handedOut))
        if keeping == .activity {
            #expect(try await server.call(.get, "…/activities/a-1")["state"] == found["state"] ?? .null)
        }
        let said = availability == .handedOut ? "handed out Senders get it." : sentence
        let page = try await browser.get(Self.page)
        #expect(page.words.contains(said), "\(said) in \(page.words)")
        // The channel belongs to an alias, and the page of an activity does not show aliases.
        guard availability != .channel else { return }
        let own = try await browser.get(
            keeping == .activity ? "…/activities/a-1" : "…/installations/\(Life.installation())"
        )
        #expect(own.words.contains(said), "\(said) in \(own.words)")
    }

    private static func words(_ note: AliasExplanation.Note) -> String {
        switch note {
        case .erased: "All data about the alias until"
        case .unknown: "No record has the alias in this app and environment"
        case .knownElsewhere: "No record has the alias here, but a record in production has it"
        case .otherCase(let value): "No record has the alias, but a record has \(value)"
        }
    }

    @Test(arguments: [
        AliasExplanation.Note.unknown, .knownElsewhere(.production), .erased(.distantPast),
        .otherCase(UTF8Text(Life.alias.uppercased())),
    ])
    func `Every note has one sentence`(note: AliasExplanation.Note) async throws {
        let life = Life()
        switch note {
        case .unknown: break
        case .knownElsewhere: try await life.register(1, observed: 5, in: .production)
        case .erased:
            try await life.register(1, observed: 5)
            let alias: JSONValue = ["kind": "liveactivityId", "value": .string(Life.alias)]
            #expect(try await server.call(.post, "…/erasures", ["alias": alias]).status == 200)
        case .otherCase(let value): try await server.register("a-1", token: 1, alias: value.string)
        }
        let notes = try await server.call(.get, Self.bearers)["notes"]
        #expect(notes.all("code").contains(.string(note.code)))
        guard case .array(let all) = notes else { return }
        let page = try await ConsoleBrowser().get(Self.page)
        for case .string(let sentence)? in all.map({ $0["detail"] }) {
            #expect([".", "?"].contains(sentence.last), "\(sentence) in \(page.words)")
            #expect(page.words.contains(sentence), "\(sentence) in \(page.words)")
        }
        #expect(page.words.contains(Self.words(note)))
        #expect(page.words.contains("A sender gets no activity token"))
    }

    @Test func `Replaced tokens are labelled as replaced`() async throws {
        let life = Life()
        try await life.register(1, observed: 5)
        try await life.register(2, observed: 3)
        #expect(try await life.register(1, observed: 4).problem == "superseded")
        let browser = ConsoleBrowser()
        let old = Hexadecimal.encode(Array(SHA256.hash(data: PushToken.sample(1).bytes).prefix(4)))
        #expect(try await browser.get("…/search?q=fingerprint:\(old)").words.contains(" a-1 "))
        let page = try await browser.get("…/activities/a-1")
        #expect(page.words.contains(old) && page.words.contains("a newer token replaced it"), "\(page.words)")
    }
}

private struct Provocation {
    let life: Life
    let keeping: TokenAvailabilityTests.Keeping

    func provoke(_ availability: TokenAvailability) async throws {
        switch availability {
        case .handedOut: try await register()
        case .ended:
            try await register()
            try await life.end(observed: 1)
        case .expired:
            try await register()
            try await database.execute(
                "UPDATE activities SET started_at = now() - interval '9 hours', expires_at = now() - interval '1 hour'"
            )
        case .dismissed:
            try await register()
            try await life.relaunch(at: 1, running: [:])
        case .noToken, .channel, .noPush:
            let item: JSONValue = [
                "activityId": "a-1", "aliases": ["liveactivityId": .string(Life.alias)],
                "pushType": availability == .noPush ? "none" : .null,
            ]
            let state: JSONValue = ["observedAt": .minutesAgo(1), "activities": [item]]
            _ = try await server.call(.put, "…/installations/phone-1/activities", state)
            let channel: JSONValue = ["channelId": "dHN0LXNyY2gtY2hubA==", "messageStoragePolicy": 0]
            guard availability == .channel else { return }
            _ = try await server.call(.put, "…/aliases/liveactivityId/\(Life.alias)/channel", channel)
        case .loggedOut:
            // The activity becomes known after the log-out, so its end is not recorded.
            if keeping != .activity { try await register() }
            let time = RFC3339.format(.minutesAgo(4))
            _ = try await server.call(.delete, "…/installations/phone-1?observedAt=\(time)")
            if keeping == .activity { try await register() }
        case .takenOver:
            try await register()
            guard keeping == .activity else {
                try await put("…/installations/phone-2/device-token", minutes: 1)
                break
            }
            // The other activity has the same alias and is later.
            try await life.register(1, of: "a-2", on: "phone-2", observed: 1)
            try await life.end("a-2", observed: 0.5)
        case .kindConflict:
            try await register()
            try await put("…/installations/phone-2/device-token", minutes: 1)
        case .unregistered:
            try await register()
            #expect(try await life.unregistered(1, since: 1) == "dropped")
        case .quarantined:
            try await register()
            _ = try await life.report(["token": .token(1), "status": 400, "reason": "BadDeviceToken"])
        case .purged:
            try await register()
            for table in ["activities", "installation_tokens"] {
                try await database.execute("UPDATE \(unescaped: table) SET confirmed_at = now() - interval '9 days'")
            }
            #expect(try await server.call(.post, "…/audit/stale/purge", ["dryRun": false])["purged"] == 1)
        case .deleted:
            try await register()
            _ = try await server.call(.delete, "\(place)?observedAt=\(RFC3339.format(.minutesAgo(1)))")
        }
        guard keeping != .activity else { return }
        let profile: JSONValue = ["aliases": ["liveactivityId": .string(Life.alias)], "observedAt": .minutesAgo(0)]
        _ = try await server.call(.put, "…/installations/phone-1", profile)
    }

    private var place: String {
        "…/installations/phone-1/" + (keeping == .start ? "start-tokens/Delivery" : "device-token")
    }

    private func register() async throws {
        if keeping == .activity { try await life.register(1, observed: 5) } else { try await put(place, minutes: 5) }
    }

    private func put(_ path: String, minutes: Double) async throws {
        let reply = try await server.call(.put, path, ["token": .token(1), "observedAt": .minutesAgo(minutes)])
        #expect(reply.status < 300, "\(reply.json)")
    }
}
