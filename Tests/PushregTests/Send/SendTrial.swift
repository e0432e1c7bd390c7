import APNsStandIn
import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport

@testable import pushreg

/// A developer who tries pushes: a registry, an app in it, and a stand-in for APNs with phones behind it.
struct SendTrial {
    let database: TestDatabase
    let scope: Scope
    let apns: APNsStandIn

    static let order = Alias.sample("liveactivityId", "order-42")
    static let user = Alias.sample("userId", "u-7")
    static let topic = "com.example.food.push-type.liveactivity"
    static let type = "DeliveryAttributes"
    static let content = ["--content-state", #"{"minutes":7}"#]
    static let start =
        content + [
            "--start", type, "--attributes", #"{"alias":"order-42"}"#, "--to", "userId:u-7", "--alert-title",
            "On its way",
        ]

    static func run(_ body: (SendTrial) async throws -> Void) async throws {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        try await APNsStandIn.run { apns in
            try await body(SendTrial(database: database, scope: scope, apns: apns))
        }
    }

    /// An activity of the order, on a phone of its own that shows it.
    func runActivity(_ number: Int, isKnownToAPNs: Bool = true, in environment: APNSEnvironment = .sandbox) async throws
    {
        let registration = ActivityRegistration.sample(
            token: .sample(number),
            observedAt: .minutesAgo(5),
            installation: .sample(number),
            aliases: [Self.order]
        )
        let scope = Scope(app: scope.app, environment: environment)
        _ = try await database.registry.register(registration, as: .sample("a-\(number)"), in: scope, by: "test")
        guard isKnownToAPNs else { return }
        apns.change { model in
            let target = PushTarget.activity(phone: "phone-\(number)", id: "a-\(number)")
            model.add(Self.hex(number), target, topic: Self.topic)
            model.show(ShownActivity(id: "a-\(number)", phone: "phone-\(number)", alias: "order-42", timestamp: 0))
        }
    }

    /// A phone of the user on which nothing runs, with a start token.
    func idlePhone(_ number: Int) async throws {
        let installation = InstallationHash.sample(number)
        let profile = InstallationProfile(aliases: try AliasSet([Self.user]))
        _ = try await database.registry.put(profile, for: installation, in: scope, by: "test")
        _ = try await database.registry.register(
            TokenRegistration(token: .sample(number)),
            in: .start(try AttributesType(Self.type)),
            of: installation,
            in: scope,
            by: "test"
        )
        apns.change { $0.add(Self.hex(number), .start(phone: "phone-\(number)"), topic: Self.topic) }
    }

    static func hex(_ number: Int) -> String { Hexadecimal.encode(PushToken.sample(number).bytes) }

    /// Another planner's step on the user's one phone.
    func step() async throws -> PlanStep? {
        let request = PlanRequest(alias: Self.order, to: [Self.user], attributesType: try AttributesType(Self.type))
        return try await database.registry.plan(request, in: scope, by: "another").entries.first?.step
    }

    /// The activities that the phone of a number shows.
    func shown(_ number: Int) -> [ShownActivity] {
        apns.model.phones["phone-\(number)"].map { Array($0.activities.values) } ?? []
    }

    /// Runs `pushreg send` for the order, with the stand-in's key and address.
    func send(_ arguments: [String], key: String? = nil, url: String? = nil) async throws -> Program.Outcome {
        try await Program.run(
            ["send", "com.example.food", "sandbox", "liveactivityId", "order-42"] + databaseFlags + [
                "--key", key ?? apns.keyFile, "--key-id", apns.key.keyID, "--team-id", apns.key.teamID, "--apns-url",
                url ?? apns.address, "--apns-root", apns.certificate.certificate,
            ] + arguments
        )
    }

    var databaseFlags: [String] { ["--database-url", database.connectionString, "--unsafe-durability"] }

    /// How many leases are taken, and how many events there are.
    func marks() async throws -> [Int] {
        try await [database.count("SELECT count(*) FROM start_leases"), database.count("SELECT count(*) FROM events")]
    }
}
