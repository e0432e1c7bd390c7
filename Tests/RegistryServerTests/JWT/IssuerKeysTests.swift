import Foundation
import RegistryCore
import Synchronization
import TestSupport
import Testing

@testable import RegistryServer

@Suite struct IssuerKeysTests {
    @Test func `Users stay signed in while the source of keys is down for an hour`() async throws {
        let setting = Setting()
        #expect(await setting.refusal() == nil)
        setting.serve(nil)
        for _ in 0..<120 {
            setting.clock.advance(by: .seconds(30))
            #expect(await setting.refusal() == nil)
            #expect(await setting.refusal(of: .stranger) == .unauthenticated)
            #expect(await setting.refusal(kid: "unknown") == .unauthenticated)
        }
        #expect((50...61).contains(setting.count))
        setting.serve(TestIssuer.stranger.keySet)
        setting.clock.advance(by: .seconds(60))
        #expect(await setting.refusal(of: .stranger, kid: "unknown") == .unauthenticated)
        #expect(await setting.refusal(of: .stranger) == nil)
        #expect(await setting.refusal() == .unauthenticated)
    }

    @Test func `Unknown keys are fetched at most once a minute`() async throws {
        let setting = Setting()
        let codes = try await concurrently(0..<500) { number in
            await setting.refusal(of: .stranger, kid: .string("k-\(number)"))
        }
        #expect(codes.allSatisfy { $0 == .unauthenticated })
        #expect(setting.count == 1)
        setting.clock.advance(by: .seconds(59))
        _ = await setting.refusal(kid: "new")
        #expect(setting.count == 1)
        setting.clock.advance(by: .seconds(1))
        _ = await setting.refusal(kid: "new")
        #expect(setting.count == 2)
        setting.clock.advance(by: .seconds(60))
        #expect(await setting.refusal(kid: "newer", claims: ["iss": "stranger"]) == .unauthenticated)
        #expect(setting.count == 2, "a stranger does not know the issuer")
    }

    @Test func `A withdrawn key is rejected after a limited time`() async throws {
        let setting = Setting()
        #expect(await setting.refusal() == nil)
        setting.serve(TestIssuer.stranger.keySet)
        setting.clock.advance(by: IssuerKeys.maximumAge)
        // The first token after that starts the fetch and does not wait for it.
        _ = await setting.refusal()
        while setting.count < 2 { await Task.yield() }
        while await setting.refusal() == nil { await Task.yield() }
        #expect(setting.count == 2)
    }

    @Test func `Without keys, a user gets a temporary error`() async throws {
        let setting = Setting(nil)
        #expect(await setting.refusal() == .unavailable)
        #expect(await setting.refusal(claims: ["iss": "stranger"]) == .unauthenticated)
        #expect(setting.count == 1)
        setting.serve(TestIssuer.honest.keySet)
        setting.clock.advance(by: .seconds(60))
        #expect(await setting.refusal() == nil)
    }

    @Test(arguments: [[:], ["keys": []], ["keys": [["kty": "oct", "k": "c2VjcmV0"]]], [], "x"] as [JSONValue])
    func `A response that is not a key set changes nothing`(_ answer: JSONValue) async throws {
        let setting = Setting()
        #expect(await setting.refusal() == nil)
        setting.serve(answer)
        setting.clock.advance(by: .seconds(60))
        #expect(await setting.refusal(kid: "new") == .unauthenticated)
        #expect(setting.count == 2)
        #expect(await setting.refusal() == nil)
    }
}

@Suite(.timeLimit(.minutes(5))) struct VerifiedTokensTests {
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
        let setting = Setting(lifetime: 100)
        let app = setting.app()
        let user = try await setting.verify(app)
        setting.clock.advance(by: .seconds(100 + 60 - 1))
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
        let keys = try #require(VerificationKeySet(TestIssuer.honest.keySet))
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

/// A verifier with its source of keys, and a user's token; nil keys are a source that is down.
private struct Setting: Sendable {
    let clock = ManualClock()
    let source: Source
    let verifier: JWTVerifier
    let text: Secret

    final class Source: Sendable {
        let keys: Mutex<JSONValue?>
        let count = Mutex(0)
        init(_ keys: JSONValue?) { self.keys = Mutex(keys) }
    }

    init(_ keys: JSONValue? = TestIssuer.honest.keySet, lifetime: Int64 = 3600) {
        let source = Source(keys)
        let known = IssuerKeys(clock: clock.clock, logger: .silent) { _ in
            source.count.withLock { $0 += 1 }
            guard let keys = source.keys.withLock(\.self) else { throw JSONFaultReason("down") }
            return keys
        }
        (self.source, verifier) = (source, JWTVerifier(keys: known, clock: clock.clock))
        let end = JSONValue.integer(Int64(clock.now.timeIntervalSince1970) + lifetime)
        text = Secret(TestIssuer.honest.token(claims: ["exp": end], at: clock.now))
    }

    var count: Int { source.count.withLock(\.self) }
    func serve(_ keys: JSONValue?) { source.keys.withLock { $0 = keys } }

    func app(_ bundleID: String = "a", updatedAt: Date = .distantPast) -> App {
        .sample(bundleID, jwt: TestIssuer.settings(keysAt: "https://login.example.com/keys"), updatedAt: updatedAt)
    }

    func name(_ app: App) -> VerifiedTokens.Name { VerifiedTokens.Name(text, of: app.bundleID) }

    @discardableResult
    func verify(_ app: App) async throws -> Principal {
        try await verifier.user(of: CompactJWT(text), named: name(app), app)
    }

    func knownUser(_ app: App) -> Principal? { verifier.knownUser(of: name(app), app) }

    /// The code of a refused token; nil for an accepted one.
    func refusal(
        of issuer: TestIssuer = .honest,
        kid: JSONValue = "ec",
        claims: JSONObject = [:]
    ) async -> Problem.Code? {
        do {
            _ = try await verifier.user(of: issuer.token(header: ["kid": kid], claims: claims, at: clock.now), app())
            return nil
        } catch { return (error as? Problem)?.code }
    }
}
