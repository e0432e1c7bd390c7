import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// The most pages of tables and indexes that Postgres may read for each call, about 1.1 to 1.5 times the measured
/// pages. Plans that read rows of other apps, or a table once per item, exceed them.
enum CostTable {
    struct Row: CustomTestStringConvertible {
        let name: String
        let fill: Make
        let calls: [Call]

        var testDescription: String { name }

        init(_ name: String, fill: @escaping Make = { _ in }, _ calls: Call...) {
            (self.name, self.fill, self.calls) = (name, fill, calls)
        }
    }

    struct Call {
        let name: String
        let pages: Int
        let isOnce: Bool
        let make: Make

        static func call(_ name: String, atMost pages: Int, _ make: @escaping Make) -> Call {
            Call(name: name, pages: pages, isOnce: false, make: make)
        }

        /// A call that can run only once, because it uses up its rows.
        static func once(_ name: String, atMost pages: Int, _ make: @escaping Make) -> Call {
            Call(name: name, pages: pages, isOnce: true, make: make)
        }
    }

    static let strangers: [Row] = [
        Row(
            "running activities under an alias",
            fill: { try await $0.addActivities(under: alias) },
            .call("page", atMost: 350) { _ = try await $0.registry.activities(under: alias, limit: 100, in: $0.scope) },
            .call("resolve of 300 times the same", atMost: 4000) {
                let aliases = [Alias](repeating: alias, count: 300)
                let found = try await $0.registry.resolve(aliases, limitPerAlias: 1000, in: $0.scope)
                #expect(found.map(\.activities.count).reduce(0, +) <= Registry.mostResolved)
            },
            .call("explain", atMost: 900) { _ = try await $0.registry.explain(alias, limit: 100, in: $0.scope) },
            .call("search", atMost: 800) {
                let search = ActivitySearch.alias(kind: nil, value: alias.value)
                _ = try await $0.registry.findActivities([search], limit: 100, in: $0.scope)
            },
            .call("plan", atMost: 450) { try await $0.plan(limit: 100) },
            .call("stream of all", atMost: 1500) {
                try await $0.registry.forEachRange(
                    of: alias,
                    after: 0,
                    in: $0.scope,
                    rangeSize: 500,
                    prepare: { found, _ in found.count },
                    receive: { _ in }
                )
            }
        ),
        Row(
            "withheld activities under an alias",
            fill: {
                try await $0.applyFullState(listing: 0)
                try await $0.addActivities(of: phone, under: alias, 5)
            },
            .call("page", atMost: 75_000) {
                let found = try await $0.registry.activities(under: alias, limit: 100, in: $0.scope)
                #expect(found.isEmpty)
            },
            .call("explain", atMost: 1200) { _ = try await $0.registry.explain(alias, limit: 100, in: $0.scope) }
        ),
        Row(
            "activities of an installation",
            fill: {
                try await $0.addActivities(of: phone, under: .sample("liveactivityId", "others"))
                try await $0.installation(1).put([alias], at: nil)
            },
            .call("plan", atMost: 120) { try await $0.plan(limit: 100) }
        ),
        Row(
            "running activities that end by their alias",
            fill: { try await $0.addActivities(under: alias) },
            .once("end of all", atMost: 450_000, endAll)
        ),
        Row(
            "running activities that end by a log-out",
            fill: { try await $0.addActivities(of: phone) },
            .once("log-out", atMost: 400_000) { try await $0.installation(1).logOut(at: nil) }
        ),
        Row(
            "running activities that a full state dismisses",
            fill: { meter in
                var most = meter
                most.count = Registry.mostRunningActivities
                try await most.addActivities(of: phone)
            },
            .once("full state", atMost: 35_000) { try await $0.applyFullState(listing: 1) }
        ),
        Row(
            "events",
            fill: { try await $0.database.addEvents($0.count, of: phone, under: alias, in: $0.scope) },
            .call("of an activity", atMost: 400, events { $0.activityID = .sample("activity") }),
            .call("of a rare type", atMost: 50, events { $0.type = "taken-over" }),
            .call("of an installation", atMost: 400, events { $0.installation = phone }),
            .call("of a user", atMost: 400, events { $0.subject = "u-7" }),
            .call("of an alias", atMost: 450, events { $0.alias = alias }),
            .call("until a time", atMost: 800, events { $0.until = .minutesAgo(-1) }),
            .call("of all", atMost: 450, events { _ in })
        ),
        Row(
            "installations under an alias, with one start token",
            fill: { try await $0.addInstallations(startToken: .sample(7)) },
            .call("page of start tokens", atMost: 200) {
                let found = try await $0.registry.tokens(under: alias, .start, limit: 10, in: $0.scope)
                #expect(found.count == 10)
            },
            .call("explain", atMost: 900) { _ = try await $0.registry.explain(alias, limit: 100, in: $0.scope) },
            .call("search of the token", atMost: 50) {
                let digests: SQL = "SELECT sha256(\(PushToken.sample(7).bytes))"
                let digest = Array(try await $0.database.column(digests, as: [UInt8].self)[0].prefix(4))
                _ = try await $0.registry.findInstallations(beginningWith: digest, limit: 100, in: $0.scope)
            },
            .call("plan", atMost: 300) { try await $0.plan(limit: 10) },
            .call("list", atMost: 50) { _ = try await $0.registry.installations(limit: 100, in: $0.scope) }
        ),
        Row(
            "installations that share a start token",
            fill: { try await $0.addInstallations(startToken: .sample(7)) },
            .once("report", atMost: 30_000) { try await $0.reportSharedToken() },
            .once("stale, quarantined", atMost: 4500) {
                var filter = StaleFilter()
                filter.reason = .quarantined
                let found = try await $0.registry.staleTokens(filter, limit: 5, in: $0.scope)
                #expect(found.items.count == 5)
            },
            .once("release", atMost: 20_000) {
                let released = try await $0.registry.releaseAll(in: $0.scope, by: "test")
                #expect(released == 1)
            },
            .once("registration as a device token", atMost: 20_000) { await $0.registerDeviceToken(7) },
            .once("report after that", atMost: 150) { try await $0.reportSharedToken() }
        ),
        Row(
            "installations under an alias, without a token",
            fill: { try await $0.addInstallations(startToken: nil) },
            .call("page of start tokens", atMost: 300) {
                _ = try await $0.registry.tokens(under: alias, .start, limit: 100, in: $0.scope)
            }
        ),
        Row(
            "reports of one token",
            fill: { try await $0.addActivities() },
            .call("feedback", atMost: 500, report { _ in 1 })
        ),
        Row(
            "registrations and ends under a name, with times",
            fill: { try await $0.useName(1000, isTimed: true) },
            .call("registration and end", atMost: 1200) { try await $0.useName(1, endEvery: 1, isTimed: true) }
        ),
        Row(
            "registrations and ends under a name, without times",
            fill: { try await $0.useName(1000, isTimed: false) },
            .call("registration and end", atMost: 1200) { try await $0.useName(1, endEvery: 1, isTimed: false) }
        ),
        Row(
            "token values of an installation",
            fill: {
                await $0.registerDeviceToken(1)
                try await $0.database.addValues(1...$0.count, of: phone, in: $0.scope)
            },
            .call("registration", atMost: 200) { await $0.registerDeviceToken(.random(in: 1 << 30..<1 << 40)) },
            .call("record", atMost: 50) { _ = try await $0.registry.installation(phone, in: $0.scope) },
            .call("stale", atMost: 50) { _ = try await $0.registry.staleTokens(limit: 100, in: $0.scope) },
            .call("dry run of a purge", atMost: 120) { _ = try await $0.registry.countStaleTokens(in: $0.scope) }
        ),
    ]

    static let batches: [Row] = [
        Row("tokens", fill: { try await $0.addActivities() }, .once("feedback", atMost: 45_000, report { $0 })),
        Row(
            "one token again and again",
            fill: { try await $0.addActivities() },
            .once("feedback", atMost: 500, report { _ in 1 })
        ),
        Row("aliases", fill: { try await register({ $0 })($0) }, .once("resolve", atMost: 12_000, resolve { "\($0)" })),
        Row(
            "one alias again and again",
            fill: {
                var one = $0
                one.count = 1
                try await register({ $0 })(one)
            },
            .once("resolve", atMost: 50, resolve { _ in "1" })
        ),
        Row("activities", .once("import", atMost: 65_000, register { $0 })),
        Row("activities that come twice", .once("import", atMost: 65_000, register { ($0 + 1) / 2 })),
        Row("activities", .once("full state", atMost: 70_000, fullState(activity: { $0 }, token: { $0 }))),
        Row(
            "one activity again and again",
            .once("full state", atMost: 300, fullState(activity: { _ in 1 }, token: { $0 }))
        ),
        Row(
            "one token in a full state",
            .once("full state", atMost: 50_000, fullState(activity: { $0 }, token: { _ in 1 }))
        ),
        Row(
            "activities of an alias",
            fill: { try await $0.addActivities(under: alias) },
            .once("end of all", atMost: 50_000, endAll)
        ),
        Row(
            "installations",
            fill: { try await $0.addInstallations(startToken: .sample(7)) },
            .once("plan", atMost: 65_000) {
                var request = PlanRequest(alias: alias, attributesType: TestInstallation.types[1])
                request.limit = $0.count
                let page = try await $0.registry.plan(request, in: $0.scope, by: "sender")
                #expect(page.entries.filter { $0.decision.action == "start" }.count == $0.count)
            }
        ),
        Row(
            "expired activities",
            fill: { try await $0.addActivities(under: alias, 9 * 60) },
            .once("sweep", atMost: 50_000, sweep(.expiry))
        ),
        Row("tombstones", fill: addTombstones, .once("sweep", atMost: 45_000, sweep(.tombstones))),
        Row(
            "activities of an alias",
            fill: { try await $0.addActivities(under: alias) },
            .once("erasure", atMost: 80_000, erase(.alias(alias)))
        ),
        Row(
            "installations of an alias",
            fill: { try await $0.addInstallations(startToken: nil) },
            .once("erasure", atMost: 50_000, erase(.alias(alias)))
        ),
        Row(
            "activities of an installation",
            fill: { try await $0.addActivities(of: phone) },
            .once("erasure", atMost: 60_000, erase(.installation(phone)))
        ),
    ]
}
