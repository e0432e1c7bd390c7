import Foundation
import HTTPTypes
import PostgresDriver
import RegistryCore
import RegistryRules
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

/// Compares every caller's calls on records of every owner with ``OwnerMatrix``.
@Suite(.secureService, .timeLimit(.minutes(15))) struct OwnerMatrixTests {
    private typealias Cell = OwnerMatrix.Cell

    private struct World {
        let scope: Scope
        private var credentials: [String: HTTPFields] = [:]

        init() async throws {
            scope = try await database.scope()
            for role in [Role.client, .sender, .admin, .root] {
                credentials["\(role)"] = try await server.key(role).fields
            }
            try await server.acceptUsers()
            for user in ["u1", "u2"] {
                credentials[user] = .bearer(TestIssuer.honest.token(claims: ["sub": .string(user)], at: Date()))
            }
        }

        func fields(_ caller: String, _ suffix: String = "") -> HTTPFields {
            let installation = OwnerMatrix.parts(of: caller).installation
            var fields = credentials[caller.prefix { $0 != "@" }.description] ?? [:]
            fields[.installationID] = installation.map { $0 + suffix }
            return fields
        }

        private func hash(_ installation: String) -> InstallationHash {
            InstallationHash(of: try! InstallationID(installation), in: scope.app.bundleID)
        }

        func prepare(_ cell: Cell) async throws {
            let owner = OwnerMatrix.parts(of: cell.owner)
            let hash = owner.installation.map { self.hash(cell.call.record == .installation ? cell.phone : $0) }
            let claimant: Claimant =
                switch (owner.user, hash) {
                case (let user?, _): .subject(UTF8Text(user), hash)
                case (nil, let hash?): .installation(hash)
                case (nil, nil): .any
                }
            switch cell.call.record {
            case .activity: try await makeActivity(cell, claimant)
            case .namedActivity:
                let named = ActivityOwner(installation: hash, subject: owner.user.map { UTF8Text($0) })
                try await makeNamedActivity(cell, named, claimant)
            case .installation: try await makeInstallation(cell, claimant)
            }
        }

        private func makeActivity(_ cell: Cell, _ claimant: Claimant) async throws {
            let (id, registry) = (ActivityID.sample(cell.id), server.registry)
            if cell.owner != "new" {
                let token = ActivityRegistration.sample(token: .sample(cell.token), observedAt: .minutesAgo(30))
                _ = try await registry.register(token, as: id, in: scope, by: "test", claimant: claimant)
            }
            guard cell.owner == "new" || cell.call == .tokenAfterTheEnd else { return }
            try await registry.end(id, reason: .ended, observedAt: nil, in: scope, by: "test", claimant: claimant)
        }

        private func makeNamedActivity(_ cell: Cell, _ owner: ActivityOwner, _ claimant: Claimant) async throws {
            _ = try await server.registry.register(
                .sample(token: .sample(cell.token), observedAt: .minutesAgo(30)),
                alias: UTF8Text(cell.id),
                owner: owner,
                in: scope,
                by: "test",
                claimant: claimant
            )
        }

        private func makeInstallation(_ cell: Cell, _ claimant: Claimant) async throws {
            guard cell.owner != "new" else { return }
            let hash = hash(cell.phone)
            let aliases = try AliasSet([.sample("plate", cell.id)])
            let profile = InstallationProfile(aliases: aliases, observedAt: .minutesAgo(30))
            _ = try await server.registry.put(profile, for: hash, in: scope, by: "test", claimant: claimant)
            let slots: [TokenSlot] = [.start(try AttributesType("Match")), .only(.device), .only(.widget)]
            for (offset, slot) in slots.enumerated() {
                let token = TokenRegistration(token: .sample(cell.token + offset), observedAt: .minutesAgo(30))
                let registry = server.registry
                _ = try await registry.register(token, in: slot, of: hash, in: scope, by: "test", claimant: claimant)
            }
        }

        func send(_ cell: Cell) async throws -> Reply {
            let (activity, phone) = ("…/activities/\(cell.id)", "…/installations/\(cell.phone)")
            func send(_ method: HTTPRequest.Method, _ path: String, _ body: JSONValue? = nil) async throws -> Reply {
                let suffix = path.hasPrefix(phone) ? "-\(cell.number)" : ""
                return try await server.call(method, path, body, fields(cell.caller, suffix))
            }
            func token(_ offset: Int, _ minutes: Double? = nil) -> JSONValue {
                ["token": .token(cell.token + offset), "observedAt": minutes.map { .minutesAgo($0) } ?? .null]
            }
            return switch cell.call {
            case .newToken: try await send(.put, activity, token(1, 10))
            case .sameToken: try await send(.put, activity, token(0))
            case .olderToken: try await send(.put, activity, token(2, 40))
            case .untimedToken: try await send(.put, activity, token(3))
            case .tokenAfterTheEnd: try await send(.put, activity, token(1))
            case .end: try await send(.delete, activity)
            case .fullStateItem:
                try await send(
                    .put,
                    "…/installations/\(OwnerMatrix.parts(of: cell.caller).installation ?? "z")/activities",
                    ["observedAt": .minutesAgo(5), "activities": [["activityId": .string(cell.id)]]]
                )
            case .namedToken:
                try await send(.post, "…/activities", ["token": .token(cell.token + 1), "alias": .string(cell.id)])
            case .namedEnd: try await send(.delete, "…/activities?alias=\(cell.id)")
            case .startToken: try await send(.put, phone + "/start-tokens/Match", token(3, 10))
            case .startDeletion: try await send(.delete, phone + "/start-tokens/Match")
            case .deviceToken: try await send(.put, phone + "/device-token", token(3))
            case .deviceDeletion: try await send(.delete, phone + "/device-token")
            case .widgetToken: try await send(.put, phone + "/tokens/widget", token(3))
            case .widgetDeletion: try await send(.delete, phone + "/tokens/widget")
            case .logOut: try await send(.delete, phone)
            case .profile: try await send(.put, phone, ["metadata": ["a": 1]])
            case .fullState:
                try await send(.put, phone + "/activities", ["observedAt": .minutesAgo(5), "activities": []])
            }
        }

        /// The outcome in the table's notation, or a description of another outcome.
        func outcome(_ reply: Reply, _ cell: Cell) async throws -> String {
            let item = reply["results"][0]["problem"]?["code"] ?? reply["code"]
            return switch item {
            case "not-yours": "n"
            case "installation-required": "i"
            case "invalid-request": "2"
            // Access was granted; other tests cover the record's state.
            case .null, "superseded", "activity-ended": try await String(effect(cell))
            default: "\(reply.status) \(item)"
            }
        }

        private func effect(_ cell: Cell) async throws -> Character {
            switch cell.call.record {
            case .namedActivity:
                let alias = Alias.sample("liveactivityId", cell.id)
                let bearers = try await server.registry.activities(under: alias, limit: 10, in: scope)
                return bearers.contains { $0.token == .sample(cell.token) } ? "-" : "y"
            case .installation where [.profile, .fullState].contains(cell.call) && cell.owner != "new":
                let record = try await server.registry.installation(hash(cell.phone), in: scope)
                let user = OwnerMatrix.parts(of: cell.caller).user
                return record?.aliases == nil && record?.subject?.string == user ? "t" : "y"
            default: return "y"
            }
        }

        func contents() async throws -> Set<String> {
            let tables = [
                "activities", "activity_aliases", "alias_identities", "events",
                "installations", "installation_aliases", "installation_tokens", "token_values",
            ]
            return try await database.pool.withSession { session in
                var rows: Set<String> = []
                for table in tables {
                    let found = try session.execute("SELECT t::text FROM \(unescaped: table) t").decode(String.self)
                    rows.formUnion(found.map { "\(table): \($0)" })
                }
                return rows
            }
        }
    }

    @Test func `Every caller gets the listed response, and a refused call leaves no trace`() async throws {
        let world = try await World()
        let cells = Cell.all()
        for cell in cells { try await world.prepare(cell) }
        func check(_ cells: [Cell]) async throws {
            for cell in cells {
                let reply = try await world.send(cell)
                #expect(try await world.outcome(reply, cell) == String(cell.expected), "\(cell)")
            }
        }
        // A full state is applied without its refused item, and dismisses the installation's other activities.
        let others = cells.filter { $0.call != .fullStateItem }
        let before = try await world.contents()
        try await check(others.filter(\.isRefused))
        #expect(try await world.contents().symmetricDifference(before) == [])
        try await check(others.filter { !$0.isRefused })
        try await check(cells.filter { $0.call == .fullStateItem })
        #expect(cells.count == 1_837)
    }

    /// The refusal comes after all errors of the request itself, and before errors of the record's state.
    @Test func `The refusal of another user's record comes in the documented order`() async throws {
        let world = try await World()
        let phone = "…/installations/x-1"
        for (call, path) in [
            (OwnerMatrix.Call.startToken, phone + "/start-tokens/Match"), (.deviceToken, phone + "/device-token"),
            (.newToken, "…/activities/cell-1"),
        ] {
            let cell = Cell(call: call, caller: "u2@x", owner: "u1@x", expected: "n", number: 1)
            try await world.prepare(cell)
            let fields = world.fields("u2@x", path.hasPrefix(phone) ? "-1" : "")
            func problem(_ body: JSONValue) async throws -> String {
                try await server.call(.put, path, body, fields).problem
            }
            #expect(try await server.send(.put, path, [0x7B], fields).problem == "malformed-json")
            #expect(try await problem([:]) == "invalid-request /token")
            let skewed: JSONValue = ["token": .token(9), "observedAt": .minutesAgo(-60)]
            #expect(try await problem(skewed) == "clock-skew /observedAt")
            // Its own user would get a 409.
            #expect(try await problem(["token": .token(9), "observedAt": .minutesAgo(50)]) == "not-yours")
            let end = try await server.call(.delete, path + "?observedAt=2999-01-01T00:00:00Z", nil, fields)
            #expect(end.problem == "clock-skew /observedAt")
        }
    }

    @Test func `The refusal of another user's record reveals nothing`() async throws {
        let world = try await World()
        var fields = world.fields("client@x")
        fields[RequestID.field] = "same"
        var answers: Set<[UInt8]> = []
        for (number, owner) in ["u1", "none", "u1", "none"].enumerated() {
            let call = number < 2 ? OwnerMatrix.Call.newToken : .tokenAfterTheEnd
            let cell = Cell(call: call, caller: "client@x", owner: owner, expected: "n", number: number)
            try await world.prepare(cell)
            let reply = try await server.call(.put, "…/activities/\(cell.id)", ["token": .token(900)], fields)
            #expect(reply.problem == "not-yours")
            answers.insert(reply.body)
        }
        #expect(answers.count == 1)
    }
}
