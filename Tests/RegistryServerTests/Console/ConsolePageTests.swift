import Crypto
import Foundation
import HTTPTypes
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(2))) struct ConsolePageTests {
    @Test(.service) func `An activity's page shows its whole life`() async throws {
        let (life, browser) = (Life(), ConsoleBrowser())
        try await life.register(1, observed: 30, started: 40)
        try await life.register(2, observed: 20)
        #expect(try await life.unregistered(2, since: 5) == "dropped")
        try await life.register(3, observed: 2)
        try await life.end(observed: 1)
        let page = try await browser.get("…/activities/a-1")
        let order = ["Started", "Registered", "Rotated", "Dropped", "Rotated", "Ended"]
        var rest = page.words[...]
        for word in order {
            let place = try #require(rest.range(of: word), "\(word) in \(page.words)")
            rest = rest[place.upperBound...]
        }
        for words in [
            "by a caller without credentials", "APNs reported the token as dead.", "The activity was ended at",
            "liveactivityId:order-42",
        ] { #expect(page.words.contains(words)) }
        #expect(page.text.contains("/console/com.example.food/sandbox/aliases/liveactivityId/order-42"))
    }

    @Test(.service) func `A planned start is on the pages of its alias, phone and activity`() async throws {
        let browser = ConsoleBrowser()
        let phone = "…/installations/phone-1"
        #expect(try await server.call(.put, phone, ["aliases": ["userId": "u-7"]]).status == 201)
        #expect(try await server.call(.put, phone + "/start-tokens/Delivery", ["token": .token(1)]).status == 201)
        let plan: JSONValue = [
            "alias": ["kind": "liveactivityId", "value": "order-42"], "to": [["kind": "userId", "value": "u-7"]],
            "attributesType": "Delivery",
        ]
        let entry = try await server.call(.post, "…/plan", plan)["installations"][0]
        let hash = try #require(entry["installation"]?.string, "\(entry)")
        for path in ["…/aliases/liveactivityId/order-42", "…/installations/\(hash)"] {
            let page = try await browser.get(path)
            #expect(page.words.contains("Planned starts") && page.words.contains("is in progress until"))
        }
        #expect(try await browser.get("…/installations/\(hash)").words.contains("Start planned"))
        let registration: JSONValue = [
            "token": .token(2), "installationId": "phone-1", "aliases": ["liveactivityId": "order-42"],
        ]
        #expect(try await server.call(.put, "…/activities/a-1", registration).status == 201)
        let activity = try await browser.get("…/activities/a-1")
        #expect(activity.words.contains("The activity was registered after start 1."))
    }

    @Test(.secureService) func `The wizard purges only the typed tokens`() async throws {
        let phone = try await server.key(.sender).fields
        for number in 0..<3 {
            let body: JSONValue = ["token": .token(number), "observedAt": .minutesAgo(200)]
            #expect(try await server.call(.put, "…/activities/a-\(number)", body, phone).status == 201)
        }
        try await database.execute("UPDATE activities SET confirmed_at = now() - interval '200 minutes'")
        let (auditor, admin) = try await (ConsoleBrowser.signedIn(as: .auditor), ConsoleBrowser.signedIn(as: .admin))
        let list = try await auditor.get("…/stale").words
        #expect(list.contains("No client registered or refreshed it for 3 h.") && list.contains("a-2"))
        let wizard = "…/stale/purge?kind=update&reason=unconfirmed"
        let look = try await auditor.get(wizard)
        #expect(look.words.contains("3 tokens") && look.words.contains("Your key cannot purge tokens"))
        #expect(!look.text.contains("name=\"confirmation\""))
        func purge(_ browser: ConsoleBrowser, _ confirmation: String) async throws -> Reply {
            let form = try await browser.get("…/keys").formToken
            return try await browser.post(
                "…/stale/purge",
                ["kind": "update", "reason": "unconfirmed", "confirmation": confirmation, "form": form]
            )
        }
        #expect(try await purge(auditor, "com.example.food sandbox").status == 403)
        #expect(try await admin.get(wizard).text.contains("name=\"reason\" value=\"unconfirmed\""))
        let refused = try await purge(admin, "com.example.food production")
        #expect(refused.status == 422 && refused.words.contains("Nothing was purged"))
        #expect(try await admin.get("…/stale").words.contains("a-2"))
        let done = try await purge(admin, "com.example.food sandbox")
        #expect(done.status == 200 && done.words.contains("3 tokens were purged"))
        #expect(try await admin.get("…/stale?kind=update").words.contains("Found no update tokens"))
        let trail = try await auditor.get("…/search?q=event:purged").words
        #expect(trail.contains("Purged") && trail.contains("a-2"))
        #expect(try await auditor.get("…/activities/a-1").words.contains("An admin purged registrations up to"))
    }

    @Test(.service) func `A quarantine is released`() async throws {
        let (life, browser) = (Life(), ConsoleBrowser())
        try await life.register(1, observed: 5)
        _ = try await life.report(["token": .token(1), "status": 400, "reason": "BadDeviceToken"])
        let page = try await browser.get("…/activities/a-1")
        #expect(page.words.contains("A sender reported BadDeviceToken") && page.words.contains("Release"))
        #expect(try await browser.post("…/activities/a-1/release", ["form": page.formToken]).status == 303)
        let after = try await browser.get("…/activities/a-1")
        #expect(after.words.contains("Senders get it.") && after.words.contains("Released"))
        #expect(!after.text.contains("/release\""))
    }

    @Test(.service) func `A search finds records by all their names`() async throws {
        let (life, browser) = (Life(), ConsoleBrowser())
        try await life.register(1, observed: 5)
        try await life.register(2, of: "a-2", on: "phone-2", observed: 5)
        try await life.end("a-2", observed: 1)
        let fingerprint = Hexadecimal.encode(Array(SHA256.hash(data: PushToken.sample(1).bytes).prefix(4)))
        let hash = try Life.installation()
        for query in [
            "a-1", "order-42", "alias:order-42", "alias:liveactivityId:order-42", "activity:a-1", fingerprint,
            "fingerprint:\(fingerprint)", "installation:\(hash.prefix(10))",
            "alias:order-42 state:active", "state:active", "event:registered",
            "event:any activity:a-1", "event:any since:10min", "order-42 state:active",
        ] {
            let page = try await browser.get("…/search?q=\(ConsoleLink.encoded(query))")
            #expect(page.status == 200 && page.words.contains(" a-1 "), "\(query): \(page.words)")
            if query.contains("state:active") { #expect(!page.words.contains(" a-2 "), "\(query)") }
        }
        for query in ["nothing-like-it", "alias:order-43", "a-1 state:ended", "00000000"] {
            let page = try await browser.get("…/search?q=\(ConsoleLink.encoded(query))")
            #expect(page.words.contains("Nothing was found."), "\(query): \(page.words)")
        }
        for term in ["alias:order-42", "installation:ab12", "order-42", "fingerprint:1a2b3c4d", "state:active"] {
            let page = try await browser.get("…/search?q=event:any%20\(term)").words
            #expect(page.contains("searched by “\(term)”") && !page.contains(" a-1 "), "\(term)")
        }
        #expect(try await browser.get("…/search?q=state:stale").fields[.location]?.hasSuffix("/stale") == true)
        #expect(try await browser.get("…/search?q=state:odd").words.contains("The state “odd” is unknown"))
        #expect(try await browser.get("…/search?q=since:soon").words.contains("since: takes"))
    }

    @Test(.service) func `Pasted secrets appear on no page`() async throws {
        let (life, browser) = (Life(), ConsoleBrowser())
        try await life.register(1, observed: 5)
        let token = PushToken.sample(1).hexadecimal
        let reply = try await browser.get("…/search?q=\(token.uppercased())")
        let location = try #require(reply.fields[.location])
        #expect(reply.status == 303 && !location.lowercased().contains(token) && reply.body.isEmpty)
        #expect(try await browser.get(location).words.contains(" a-1 "))
        let key = APIKey(random: .admin)
        let other = try await browser.get("…/search?q=\(key.text.revealed)")
        #expect(other.fields[.location]?.contains(key.secret.revealed) == false)
        let stranger = try await ConsoleBrowser().get("…/search?q=\(token)")
        let target = try #require(stranger.fields[.location])
        #expect(stranger.status == 303 && target.contains("search") && !target.contains(token))
    }

    @Test(.service) func `The overview shows faults`() async throws {
        let (life, browser) = (Life(), ConsoleBrowser())
        try await life.register(1, observed: 5)
        let page = try await browser.get("…")
        // The tests' Postgres has unsafe settings for speed.
        for words in [
            "One check needs attention.", "fsync = off", "The sweep is up to date.",
            "Registrations in the last 24 h: 1 in total", "aria-label=\"Drops in the last 24 h: none.\"",
            "widget pushes", "ordinary notifications",
        ] { #expect(page.words.contains(words) || page.text.contains(words), "\(words)") }
        #expect(page.words.matches(of: /Attention:/).count == 1)
        for window in ["PT1H", "PT6H", "P7D", "P30D", "nonsense"] {
            #expect(try await browser.get("…?window=\(window)").status == 200)
        }
        for number in 1...12 { try await life.register(number, of: "a-\(number)", observed: 5) }
        for number in 1...12 {
            _ = try await life.report(["token": .token(number), "status": 400, "reason": "BadDeviceToken"])
        }
        let flooded = try await browser.get("…").words
        #expect(flooded.contains("Many update tokens of com.example.food in sandbox were reported as bad"))
        #expect(flooded.contains("2 checks need attention."))
    }

    @Test(.service) func `Installations and channels are listed`() async throws {
        let browser = ConsoleBrowser()
        let body: JSONValue = ["token": .token(1), "observedAt": .minutesAgo(9)]
        _ = try await server.call(.put, "…/installations/phone-1/device-token", body)
        _ = try await server.call(.put, "…/installations/phone-2", ["aliases": ["userId": "u-7"]])
        let hash = try Life.installation()
        let page = try await browser.get("…/installations")
        #expect(page.text.contains("\(ConsoleBrowser.scope)/installations/\(hash)"))
        let own = try await browser.get("…/installations/\(hash)")
        #expect(own.words.contains("device"))
        #expect(!own.text.contains("phone-1") && !page.text.contains("phone-1"))
        let channel: JSONValue = ["channelId": "dGVzdA==", "messageStoragePolicy": 1]
        _ = try await server.call(.put, "…/aliases/matchId/m-7/channel", channel)
        let channels = try await browser.get("…/channels")
        for words in ["1 of 10,000", "matchId:m-7", "dGVzdA=="] { #expect(channels.words.contains(words)) }
        #expect(try await browser.get("…/aliases/matchId/m-7").words.contains("dGVzdA=="))
    }

    @Test(.secureService) func `Keys are revoked by their name`() async throws {
        let (admin, auditor) = try await (ConsoleBrowser.signedIn(as: .admin), ConsoleBrowser.signedIn(as: .auditor))
        let sender = try await server.key(.sender)
        let (id, secret) = (sender.id.rawValue, sender.secret.revealed)
        let page = try await admin.get("…/keys")
        #expect(page.words.contains(id) && !page.text.contains(secret))
        let seen = try await auditor.get("…/keys")
        #expect(!seen.text.contains(id) && seen.words.contains("Only admins can see keys."))
        let path = "…/keys/\(id)/revoke"
        let refused = try await admin.post(path, ["form": page.formToken, "confirmation": "yes"])
        #expect(refused.status == 422 && refused.words.contains("No key was revoked"))
        #expect(try await admin.post(path, ["form": page.formToken, "confirmation": id]).status == 303)
        #expect(try await admin.get("…/keys").words.contains("revoked"))
        #expect(try await server.call(.get, "…/activities/a", nil, sender.fields).status == 401)
    }

    private static let settings = [
        SettingInForce(
            name: "databaseUrl",
            value: "postgres://u:***@db.internal/r",
            origin: "flag",
            isAboutDatabase: true
        ),
        SettingInForce(name: "keyRate", value: "5000", origin: "default"),
    ]

    @Test(.secureService { ($0.version, $0.settingsInForce) = ("1.2.3", settings) })
    func `The system page shows the settings in force`() async throws {
        let root = try await ConsoleBrowser.signedIn(as: .root).get("…/system")
        for words in [
            "1.2.3", "db.internal", "keyRate", "5000", "token_values", "0001_apps_and_keys.sql", "The sweep",
        ] { #expect(root.words.contains(words), "\(words)") }
        let auditor = try await ConsoleBrowser.signedIn(as: .auditor).get("…/system")
        #expect(auditor.words.contains("visible only to root") && !auditor.text.contains("db.internal"))
        #expect(!auditor.text.contains("token_values"))
    }
}
