import RegistryCore
import RegistryRules
import Testing

extension Story {
    fileprivate func request(
        _ installation: InstallationHash,
        at observedAt: Int?,
        _ subject: UTF8Text?
    ) -> InstallationRequest {
        InstallationRequest(
            installation,
            observedAt: observedAt.map(Self.minute),
            claimant: subject.map { .subject($0, installation) } ?? .installation(installation),
            actor: "tester"
        )
    }

    @discardableResult
    mutating func put(
        _ order: String? = nil,
        metadata: Int? = nil,
        at observedAt: Int? = nil,
        by subject: UTF8Text? = nil,
        for installation: InstallationHash = .phone
    ) throws(Rejection) -> ProfileOutcome {
        let profile = InstallationProfile(
            aliases: order.map(AliasSet.order),
            metadata: metadata.flatMap { try? Metadata(["build": .integer(Int64($0))]) }
        )
        return try rows.put(profile, request(installation, at: observedAt, subject))
    }

    @discardableResult
    mutating func register(
        _ kind: String,
        _ token: UInt8,
        at observedAt: Int? = nil,
        type: UTF8Text = "",
        of installation: InstallationHash = .phone,
        by subject: UTF8Text? = nil
    ) throws(Rejection) -> RegistrationEffect {
        try rows.register(
            PushToken(bytes: [token]),
            TokenDigest(token),
            in: InstallationToken.ID(installation: installation, kind: kind, attributesType: type),
            hasOneOwner: kind != "start",
            request(installation, at: observedAt, subject)
        )
    }

    mutating func delete(
        _ kind: String,
        at observedAt: Int? = nil,
        of installation: InstallationHash = .phone,
        by subject: UTF8Text? = nil
    ) throws(Rejection) {
        let id = InstallationToken.ID(installation: installation, kind: kind, attributesType: "")
        try rows.deleteToken(in: id, hasOneOwner: true, request(installation, at: observedAt, subject))
    }

    @discardableResult
    mutating func logOut(at observedAt: Int? = nil, by subject: UTF8Text? = nil) throws(Rejection) -> Timestamp {
        try rows.logOut(request(.phone, at: observedAt, subject))
    }

    @discardableResult
    mutating func fullState(at observedAt: Int, by subject: UTF8Text? = nil) throws(Rejection) -> Timestamp? {
        try rows.registerFullState(request(.phone, at: observedAt, subject), at: Self.minute(observedAt))
    }

    func slot(
        _ kind: String = "device",
        type: UTF8Text = "",
        of installation: InstallationHash = .phone
    ) -> InstallationToken? {
        rows.installations.slots[InstallationToken.ID(installation: installation, kind: kind, attributesType: type)]?
            .value
    }

    var phone: Installation { rows.installations[.phone] }
}

/// R6 for installations: profiles, and the user of an installation.
struct ProfileTests {
    @Test func `Aliases and metadata are replaced as a whole by the greatest observedAt`() throws {
        var story = Story()
        #expect(try story.put("1", metadata: 1, at: 20) == .stored)
        try story.put("2", at: 30)
        try story.put("3", metadata: 3, at: 10)
        try story.put("2", at: 31)
        #expect(story.phone.aliases?.value == .order("2"))
        #expect(story.phone.metadata?.observedAt == Story.minute(20))
        #expect(story.events == [.installationChanged, .installationChanged])
        #expect(story.rows.events.last?.aliases?.aliases.map(\.value) == ["1", "2"], "the new and the old aliases")
    }

    @Test func `Another user takes the installation over, which removes its aliases and its leases`() throws {
        var story = Story()
        try story.put("1", at: 20, by: "ana")
        #expect(!story.rows.installations.voidsLeases)
        try story.put(at: 30, by: "bob")
        #expect(story.phone.subject == "bob")
        #expect(story.phone.aliases == nil)
        #expect(story.rows.installations.voidsLeases)
        #expect(story.events == [.installationChanged, .takenOver, .installationChanged])
        #expect(story.rows.events[1].aliases == .order("1"))
    }

    @Test func `A late registration takes nothing over, but removes aliases given before it`() throws {
        var story = Story()
        try story.put("1", at: 10, by: "ana")
        try story.put(at: 40, by: "ana")
        #expect(try story.put("2", at: 20, by: "bob") == .ofAnotherUser)
        #expect(story.events == [.installationChanged, .installationChanged, .installationChanged])
        #expect(story.rows.events[1].aliases == .order("1"))
        #expect(story.phone.subject == "ana")
        #expect(story.phone.aliases == nil)
        #expect(try story.put("3", at: 15) == .stored)
        #expect(story.phone.aliases == nil)
        #expect(!story.rows.installations.voidsLeases)
        var other = Story()
        try other.put(at: 40, by: "ana")
        try other.put(at: 20, by: "bob")
        #expect(other.events == [.installationChanged], "ana became the owner")
        try other.put(at: 50, by: "bob")
        #expect(other.events == [.installationChanged, .takenOver, .installationChanged])
    }

    @Test func `The first owner, and a takeover, by a full state is recorded`() throws {
        var story = Story()
        for user in [nil, "ana", "ana", "bob"] as [UTF8Text?] {
            _ = try story.rows.registerFullState(story.request(.phone, at: 40, user), at: Story.minute(40))
        }
        #expect(story.events == [.installationChanged, .takenOver])
    }

    @Test func `Every order of profiles and log-outs leads to the same owner, aliases and metadata`() throws {
        // The same numbers in each run, so that the same mutants are killed.
        var state: UInt64 = 1
        func random() -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33)
        }
        for _ in 0..<60 {
            let steps = (0..<5).map { (number: $0, user: random() % 4, minute: 10 + random() % 4, given: random() % 4) }
            var phones: Set<[AnyHashable?]> = []
            for _ in 0..<8 {
                var story = Story()
                for (step, _) in steps.map({ ($0, random()) }).sorted(by: { $0.1 < $1.1 }) {
                    guard step.user < 3 else { try story.logOut(at: step.minute); continue }
                    let aliases = step.given % 2 == 1 ? "\(step.number)" : nil
                    let metadata = step.given > 1 ? step.number : nil
                    try story.put(aliases, metadata: metadata, at: step.minute, by: ["ana", "bob", "cy"][step.user])
                }
                phones.insert([story.phone.subject, story.phone.aliases?.value, story.phone.metadata?.value])
            }
            #expect(phones.count == 1, "\(steps): \(phones)")
        }
    }

    @Test func `A user who registers the installation replaces a user known only from a token`() throws {
        var story = Story()
        try story.register("device", 1, at: 30, by: "ana")
        #expect(story.phone.subject == "ana")
        try story.put(at: 10, by: "bob")
        #expect(story.phone.subject == "bob")
    }

    @Test func `Only its user and callers without a user change records of an installation`() throws {
        var story = Story()
        try story.put(at: 10, by: "ana")
        #expect(throws: Rejection.notYours) { try story.register("device", 1, at: 20, by: "bob") }
        #expect(throws: Rejection.notYours) { try story.delete("device", at: 20, by: "bob") }
        #expect(throws: Rejection.notYours) { try story.logOut(at: 20, by: "bob") }
        #expect(try story.register("device", 1, at: 20) == .registered)
        #expect(try story.register("device", 2, at: 30, by: "ana") == .rotated)
    }

    @Test func `A full state registers the installation and keeps the greatest time`() throws {
        var story = Story()
        #expect(try story.fullState(at: 20, by: "ana") == nil)
        #expect(try story.fullState(at: 10, by: "bob") == Story.minute(20))
        #expect(story.phone.times.fullStateAt == Story.minute(20))
        #expect(story.phone.subject == "ana")
    }

    @Test(arguments: ImplausibleTimeTests.times)
    func `Implausible times change nothing`(time: (name: String, time: Timestamp)) {
        var story = Story()
        let request = InstallationRequest(.phone, observedAt: time.time, claimant: .any, actor: "t")
        let id = InstallationToken.ID(installation: .phone, kind: "device", attributesType: "")
        let token = PushToken(bytes: [1])
        #expect(throws: Rejection.self) { try story.rows.put(InstallationProfile(aliases: .order("1")), request) }
        #expect(throws: Rejection.self) { try story.rows.registerFullState(request, at: time.time) }
        #expect(throws: Rejection.self) { try story.rows.logOut(request) }
        #expect(throws: Rejection.self) { try story.rows.deleteToken(in: id, hasOneOwner: true, request) }
        #expect(throws: Rejection.self) {
            try story.rows.register(token, TokenDigest(1), in: id, hasOneOwner: true, request)
        }
        #expect(story.rows.installations.installations.isEmpty)
        #expect(story.rows.installations.slots.isEmpty)
        #expect(story.events.isEmpty)
    }

    @Test func `Data observed no later than the erasure of a name is rejected`() throws {
        var story = Story().later(61, erasedAt: Story.minute(30))
        #expect(throws: Rejection.erased) { try story.put("1", at: 30) }
        #expect(throws: Rejection.erased) { try story.register("device", 1, at: 30) }
        #expect(try story.put("1", at: 31) == .stored)
        #expect(try story.put("1") == .stored)
    }
}

struct LogOutTests {
    @Test func `A log-out removes everything observed up to it, in the order of the slots`() throws {
        var story = Story()
        try story.put("1", metadata: 1, at: 30, by: "ana")
        try story.register("start", 2, at: 30, type: "Match")
        try story.register("start", 2, at: 40, type: "Delivery")
        try story.register("device", 1, at: 20)
        #expect(try story.logOut(at: 30) == Story.minute(30))
        #expect(story.phone.aliases == nil)
        #expect(story.phone.metadata == nil)
        #expect(story.phone.subject == nil)
        #expect(story.phone.times == InstallationTimes(fullStateAt: Story.minute(30), loggedOutAt: Story.minute(30)))
        #expect(story.slot()?.token?.token == nil)
        #expect(story.slot("start", type: "Match")?.token?.token == nil)
        #expect(story.slot("start", type: "Delivery")?.token?.token != nil)
        #expect(story.rows.installations.voidsLeases)
        #expect(story.events.suffix(3) == [.loggedOut, .deleted, .deleted])
        #expect(story.rows.events.suffix(2).map(\.slot?.kind) == ["device", "start"])
    }

    @Test func `A repeated log-out writes the row and no event`() throws {
        var first = Story()
        try first.logOut(at: 30)
        var story = first.later(61)
        try story.logOut(at: 30)
        #expect(story.events.isEmpty)
        #expect(!story.rows.installations.voidsLeases)
        #expect(story.rows.installations.installations[.phone]?.isWritten == true)
    }

    @Test func `Requests observed no later than the log-out change nothing`() throws {
        var story = Story()
        try story.logOut(at: 30)
        #expect(try story.put("1", at: 30, by: "ana") == .loggedOut)
        #expect(try story.register("device", 1, at: 30, by: "ana") == .removed)
        #expect(story.phone.subject == nil)
        #expect(story.slot()?.token?.token == nil)
        #expect(try story.register("device", 1, at: 31, by: "bob") == .reactivated)
        #expect(story.phone.subject == "bob")
    }

    @Test func `A log-out before the user's registration keeps the user`() throws {
        var story = Story()
        try story.put("1", at: 30, by: "ana")
        try story.logOut(at: 20)
        #expect(story.phone.subject == "ana")
        #expect(story.phone.aliases?.value == .order("1"))
    }

    @Test func `A log-out without observedAt is later than each record of a fast clock`() throws {
        let records: [(inout Story) throws -> Void] = [
            { try $0.put("1", at: 64) }, { try $0.put(metadata: 1, at: 64) }, { try $0.put(at: 64, by: "ana") },
            { try $0.register("device", 1, at: 64) },
        ]
        for record in records {
            var story = Story(now: 60)
            try story.put("0", metadata: 0, at: 62, by: "ana")
            try story.register("device", 2, at: 62)
            try record(&story)
            #expect(try story.logOut() == Story.minute(64))
            #expect(story.phone.aliases == nil && story.phone.metadata == nil && story.phone.subject == nil)
            #expect(story.slot()?.token?.token == nil)
        }
    }
}
