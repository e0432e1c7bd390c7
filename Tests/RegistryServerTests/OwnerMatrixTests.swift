import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

/// Every caller at every call about a record, of every owner, in every app, against one table.
@Suite(.timeLimit(.minutes(15))) struct OwnerMatrixTests {
    /// One record and one call about it.
    private struct Cell {
        let server: LiveServer
        let scope: Scope
        let owner: String
        /// Makes its names and tokens its own.
        let number: Int

        var id: String { "cell-\(number)" }
        private var suffix: String { "-\(number)" }
        private var token: Int { number * 4 }
        private var letter: String { OwnerMatrix.names(of: owner).installation ?? "x" }
        private var registration: ActivityRegistration { .sample(token: .sample(token), observedAt: .minutesAgo(30)) }

        // MARK: The record

        func make(_ record: OwnerMatrix.Change.Record) async throws {
            switch record {
            case .activity: try await makeActivity()
            case .named: try await makeNamed()
            case .installation: try await makeInstallation()
            }
        }

        func makeActivity() async throws {
            let id = ActivityID.sample(id)
            guard owner != "bare" else {
                return try await server.registry.end(id, reason: .ended, observedAt: nil, in: scope, by: "test")
            }
            let claimant = OwnerMatrix.claimant(owner)
            _ = try await server.registry.register(registration, as: id, in: scope, by: "test", claimant: claimant)
        }

        private func makeNamed() async throws {
            guard owner != "bare" else { return }
            let (subject, installation) = OwnerMatrix.names(of: owner)
            let identity = installation.map { ActivityOwner.installation(OwnerMatrix.installation($0)) }
            _ = try await server.registry.register(
                registration,
                alias: UTF8Text(id),
                owner: identity ?? subject.map { .subject(UTF8Text($0)) } ?? .app,
                in: scope,
                by: "test",
                claimant: OwnerMatrix.claimant(owner)
            )
        }

        private func makeInstallation() async throws {
            guard owner != "bare" else { return }
            let hash = OwnerMatrix.installation(letter + suffix)
            for (offset, slot) in [TokenSlot.start(try AttributesType("Match")), .only(.device)].enumerated() {
                _ = try await server.registry.register(
                    TokenRegistration(token: .sample(token + offset), observedAt: .minutesAgo(30)),
                    in: slot,
                    of: hash,
                    in: scope,
                    by: "test",
                    claimant: OwnerMatrix.claimant(owner, suffix)
                )
            }
        }

        // MARK: The call

        func call(
            _ change: OwnerMatrix.Change,
            by caller: OwnerMatrix.Caller,
            in app: String
        ) async throws -> Reply {
            let place = "/v1/apps/com.example.\(app)/sandbox"
            let path = "\(place)/activities/\(id)"
            let phone = "\(place)/installations/\(letter)\(suffix)"
            func send(
                _ method: HTTPRequest.Method,
                _ path: String,
                _ body: JSONValue? = nil,
                _ fields: HTTPFields? = nil
            ) async throws -> Reply {
                try await server.call(method, path, body, fields ?? caller.fields)
            }
            func onPhone(_ method: HTTPRequest.Method, _ path: String, _ body: JSONValue? = nil) async throws -> Reply {
                try await send(method, phone + path, body, caller.fields(suffix))
            }
            return switch change {
            case .newToken: try await send(.put, path, body(token + 1, 10))
            case .sameToken: try await send(.put, path, body(token, nil))
            case .oldToken: try await send(.put, path, body(token + 2, 40))
            case .end: try await send(.delete, path)
            case .fullState:
                try await send(.put, "\(place)/installations/\(caller.installation ?? "z")/activities", fullState)
            case .read: try await send(.get, path)
            case .release: try await send(.post, "\(path)/release")
            case .named:
                try await send(.post, "\(place)/activities", ["token": .token(token + 1), "alias": .string(id)])
            case .namedEnd: try await send(.delete, "\(place)/activities?alias=\(id)")
            case .startToken: try await onPhone(.put, "/start-tokens/Match", body(token + 2, 10))
            case .startDeletion: try await onPhone(.delete, "/start-tokens/Match")
            case .startRelease: try await onPhone(.post, "/start-tokens/Match/release")
            case .deviceToken: try await onPhone(.put, "/device-token", body(token + 2, nil))
            case .deviceDeletion: try await onPhone(.delete, "/device-token")
            case .profile: try await onPhone(.put, "", ["metadata": ["a": 1]])
            case .logOut: try await onPhone(.delete, "")
            }
        }

        private func body(_ token: Int, _ minutes: Double?) -> JSONValue {
            var body: JSONObject = ["token": .token(token)]
            body["observedAt"] = minutes.map { .minutesAgo($0) }
            return .object(body)
        }

        private var fullState: JSONValue {
            ["observedAt": .minutesAgo(5), "activities": [["activityId": .string(id), "token": .token(token)]]]
        }
    }

    /// The outcome that the caller was told: a refusal, or `in`; whether what they may do succeeds is for other tests.
    private static func outcome(_ reply: Reply) -> String {
        if case .string(let code)? = reply["results"][0]["problem"]?["code"], code == "not-yours" { return code }
        let refusals = ["unauthenticated", "forbidden", "unknown-app", "not-yours", "installation-required"]
        guard reply.status < 500, reply.status != 422, reply.status != 429 else { return "\(reply.status)" }
        return refusals.contains(reply.problem) ? reply.problem : "in"
    }

    @Test("Every caller at every call about a record gets what the table says") func everyCell() async throws {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        _ = try await database.scope("com.example.taxi")
        try await LiveServer.run(on: database.registry, insecureNoAuth: false) { server in
            var (cells, refused) = (0, 0)
            for caller in try await OwnerMatrix.callers(server) {
                for change in OwnerMatrix.Change.allCases {
                    for owner in change.owners {
                        for app in ["food", "taxi", "none"] {
                            let cell = Cell(server: server, scope: scope, owner: owner, number: cells)
                            if app == "food" { try await cell.make(change.record) }
                            let reply = try await cell.call(change, by: caller, in: app)
                            let expected = OwnerMatrix.expectation(caller, change, of: owner, in: app)
                            let words = "\(caller.name): \(change.rawValue) of \(owner) in \(app)"
                            #expect(Self.outcome(reply) == expected, "\(words): \(reply.status) \(reply.problem)")
                            cells += 1
                            if expected == "not-yours" { refused += 1 }
                        }
                    }
                }
            }
            #expect(cells == 5166 && refused > 200, "\(cells) \(refused)")
        }
    }

    /// Another's record is told after all that is wrong with the request itself, and before what became of the record.
    @Test("The refusal of another's record has its place in the order") func notYoursHasItsPlaceInTheOrder()
        async throws
    {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        try await LiveServer.run(on: database.registry, insecureNoAuth: false) { server in
            let callers = try await OwnerMatrix.callers(server)
            let caller = try #require(callers.first { $0.name == "u2-x" })
            let cell = Cell(server: server, scope: scope, owner: "u1x", number: 1)
            try await cell.make(.installation)
            try await cell.make(.activity)
            let fields = caller.fields("-1")
            for path in [
                "…/installations/x-1/start-tokens/Match", "…/installations/x-1/device-token", "…/activities/cell-1",
            ] {
                func problem(_ body: JSONValue) async throws -> String {
                    try await server.call(.put, path, body, fields).problem
                }
                #expect(try await server.send(.put, path, [0x7B], fields).problem == "malformed-json")
                #expect(try await problem([:]) == "invalid-request /token")
                let skewed: JSONValue = ["token": .token(9), "observedAt": .minutesAgo(-60)]
                #expect(try await problem(skewed) == "clock-skew /observedAt")
                // To its own user this would be a 409.
                #expect(try await problem(["token": .token(9), "observedAt": .minutesAgo(50)]) == "not-yours")
            }
        }
    }

    @Test("The refusal of another's record tells nothing of it") func refusalTellsNothing() async throws {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        try await LiveServer.run(on: database.registry, insecureNoAuth: false) { server in
            var fields = try await server.key(.client).fields
            fields[.installationID] = "x"
            fields[RequestID.field] = "same"
            var answers: Set<[UInt8]> = []
            var number = 0
            for owner in ["u1", "none"] {
                for isEnded in [false, true] {
                    number += 1
                    let cell = Cell(server: server, scope: scope, owner: owner, number: number)
                    try await cell.makeActivity()
                    if isEnded {
                        let id = ActivityID.sample(cell.id)
                        try await server.registry.end(id, reason: .ended, observedAt: nil, in: scope, by: "x")
                    }
                    let reply = try await server.call(.put, "…/activities/\(cell.id)", ["token": .token(900)], fields)
                    #expect(reply.problem == "not-yours")
                    answers.insert(reply.bytes)
                }
            }
            #expect(answers.count == 1)
        }
    }
}
