import RegistryCore
import Synchronization
import TestSupport
import Testing

@testable import RegistryServer

@Suite struct IssuerKeysTests {
    /// A verifier with its source of keys; nil keys are a source that is down.
    private struct Setting: Sendable {
        let clock = ManualClock()
        let source: Source
        let verifier: JWTVerifier
        let app = App.sample(jwt: TestIssuer.settings(keysAt: "https://login.example.com/keys"))

        final class Source: Sendable {
            let keys: Mutex<JSONValue?>
            let count = Mutex(0)
            init(_ keys: JSONValue?) { self.keys = Mutex(keys) }
        }

        var count: Int { source.count.withLock(\.self) }

        init(_ keys: JSONValue? = TestIssuer.honest.keySet) {
            let source = Source(keys)
            self.source = source
            let known = IssuerKeys(clock: clock.clock, logger: .silent) { _ in
                source.count.withLock { $0 += 1 }
                guard let keys = source.keys.withLock(\.self) else { throw JSONFaultReason("down") }
                return keys
            }
            verifier = JWTVerifier(keys: known, clock: clock.clock)
        }

        func serve(_ keys: JSONValue?) { source.keys.withLock { $0 = keys } }

        /// The code of a refused token; nil for an accepted one.
        func refusal(of issuer: TestIssuer = .honest, _ key: TestIssuer.Key = .ec, kid: JSONValue? = nil) async
            -> Problem.Code?
        {
            let header = kid.map { JSONObject([("kid", $0)]) } ?? [:]
            let token = issuer.token(key, header: header, at: clock.now)
            do {
                _ = try await verifier.user(of: token, app)
                return nil
            } catch { return (error as? Problem)?.code }
        }
    }

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
        await withTaskGroup(of: Problem.Code?.self) { group in
            for number in 0..<500 {
                group.addTask { await setting.refusal(of: .stranger, kid: .string("k-\(number)")) }
            }
            for await code in group { #expect(code == .unauthenticated) }
        }
        #expect(setting.count == 1)
        setting.clock.advance(by: .seconds(59))
        _ = await setting.refusal(kid: "new")
        #expect(setting.count == 1)
        setting.clock.advance(by: .seconds(1))
        _ = await setting.refusal(kid: "new")
        #expect(setting.count == 2)
    }

    @Test func `A rotated key is found`() async throws {
        var first = TestIssuer.honest.publicKey(.ec)
        first["kid"] = "old"
        let setting = Setting(["keys": [.object(first)]])
        #expect(await setting.refusal(kid: "old") == nil)
        setting.serve(TestIssuer.honest.keySet)
        setting.clock.advance(by: .seconds(60))
        #expect(await setting.refusal() == nil)
        #expect(await setting.refusal(kid: "old") == .unauthenticated)
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
        #expect(await setting.refusal() == .unavailable)
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
