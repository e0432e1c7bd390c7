import Foundation
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(5))) struct VerifiedTokensTests {
    private struct Setting: Sendable {
        let clock = ManualClock()
        let verifier: JWTVerifier
        let text: Secret
        let second: Int64

        init(_ claims: JSONObject = [:]) {
            let keys = IssuerKeys(clock: clock.clock, logger: .silent) { _ in TestIssuer.honest.keySet }
            verifier = JWTVerifier(keys: keys, clock: clock.clock)
            second = Int64(clock.now.timeIntervalSince1970)
            text = Secret(TestIssuer.honest.token(claims: claims, at: clock.now))
        }

        func app(_ bundleID: String = "a", updatedAt: Date = .distantPast) -> App {
            .sample(bundleID, jwt: TestIssuer.settings(keysAt: "https://login.example.com/keys"), updatedAt: updatedAt)
        }

        func name(_ app: App) -> VerifiedTokens.Name { VerifiedTokens.Name(text, of: app.bundleID) }

        @discardableResult
        func verify(_ app: App) async throws -> Principal {
            try await verifier.user(of: CompactJWT(text), named: name(app), app)
        }

        func knownUser(_ app: App) -> Principal? { verifier.knownUser(of: name(app), app) }
    }

    @Test func `A JWT is cached once verified, for its app only`() async throws {
        let setting = Setting()
        let app = setting.app()
        #expect(setting.knownUser(app) == nil)
        #expect(!setting.verifier.wasValid(setting.name(app)))
        let user = try await setting.verify(app)
        #expect(setting.knownUser(app) == user)
        #expect(setting.verifier.wasValid(setting.name(app)))
        #expect(setting.knownUser(setting.app("b")) == nil)
    }

    @Test func `A cached JWT expires with its exp and the clock tolerance, and is then refused`() async throws {
        let now = Int64(ManualClock().now.timeIntervalSince1970)
        let setting = Setting(["exp": .integer(now + 100)])
        let app = setting.app()
        let user = try await setting.verify(app)
        let left = setting.second + 100 + 60 - Int64(setting.clock.now.timeIntervalSince1970)
        setting.clock.advance(by: .seconds(left - 1))
        #expect(setting.knownUser(app) == user)
        setting.clock.advance(by: .seconds(1))
        #expect(setting.knownUser(app) == nil)
        // The JWT counts as valid until it is refused.
        #expect(setting.verifier.wasValid(setting.name(app)))
        let problem = await #expect(throws: Problem.self) { try await setting.verify(app) }
        #expect(problem?.code == .unauthenticated)
        #expect(!setting.verifier.wasValid(setting.name(app)))
    }

    @Test func `A cached JWT is verified again after a change of the app`() async throws {
        let setting = Setting()
        let (before, after) = (setting.app(), setting.app(updatedAt: setting.clock.now))
        try await setting.verify(before)
        #expect(setting.knownUser(after) == nil)
        let user = try await setting.verify(after)
        #expect(setting.knownUser(after) == user)
    }

    @Test func `A cached JWT is verified again with the issuer's new keys once those are due`() async throws {
        let setting = Setting()
        let app = setting.app()
        try await setting.verify(app)
        setting.clock.advance(by: IssuerKeys.maximumAge - .seconds(1))
        #expect(setting.knownUser(app) != nil)
        setting.clock.advance(by: .seconds(1))
        #expect(setting.knownUser(app) == nil)
        // The old keys verify it while the new ones load.
        while setting.knownUser(app) == nil {
            try await setting.verify(app)
            await Task.yield()
        }
        setting.clock.advance(by: IssuerKeys.maximumAge - .seconds(1))
        #expect(setting.knownUser(app) != nil)
    }

    @Test func `JWTs in use stay cached among any number of others, and the cache is bounded`() async throws {
        let setting = Setting()
        let app = setting.app()
        let keys = try #require(await VerificationKeySet(TestIssuer.honest.keySet))
        let proof = VerifiedTokens.Proof(user: .anonymous, validity: 0..<1, keys: keys, appUpdatedAt: .distantPast)
        func name(_ number: Int) -> VerifiedTokens.Name { VerifiedTokens.Name(Secret("\(number)"), of: app.bundleID) }
        let tokens = VerifiedTokens()
        for number in 0...VerifiedTokens.maximumCount * 2 {
            tokens.add(proof, of: name(number))
            #expect(tokens.proof(of: name(0)) != nil)
        }
        #expect((VerifiedTokens.maximumCount / 2...VerifiedTokens.maximumCount).contains(tokens.count))
    }
}
