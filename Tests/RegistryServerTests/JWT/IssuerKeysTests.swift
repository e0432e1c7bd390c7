import Foundation
import RegistryCore
import Synchronization
import Testing

@testable import RegistryServer

@Suite struct IssuerKeysTests {
    private final class Source: Sendable {
        private let state = Mutex<(keys: JSONValue?, count: Int)>((nil, 0))

        init(_ keys: JSONValue?) { state.withLock { $0.keys = keys } }
        func serve(_ keys: JSONValue?) { state.withLock { $0.keys = keys } }

        var count: Int { state.withLock { $0.count } }

        func fetch() throws -> JSONValue {
            try state.withLock { state in
                state.count += 1
                guard let keys = state.keys else { throw JSONFaultReason("down") }
                return keys
            }
        }
    }

    private struct Setting: Sendable {
        let clock = ManualClock()
        let source: Source
        let verifier: JWTVerifier
        let app: App

        init(_ keys: JSONValue?) throws {
            let source = Source(keys)
            self.source = source
            let known = IssuerKeys(clock: clock.clock, logger: .silent) { _ in try source.fetch() }
            verifier = JWTVerifier(keys: known, clock: clock.clock)
            var settings = TestIssuer.honest.settings
            settings["jwks"] = nil
            settings["jwksUrl"] = "https://login.example.com/keys"
            app = .sample(jwt: settings)
        }

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
        let setting = try Setting(TestIssuer.honest.keySet)
        #expect(await setting.refusal() == nil)
        setting.source.serve(nil)
        for _ in 0..<120 {
            setting.clock.advance(by: .seconds(30))
            #expect(await setting.refusal() == nil)
            #expect(await setting.refusal(of: .stranger) == .unauthenticated)
            #expect(await setting.refusal(kid: "unknown") == .unauthenticated)
        }
        #expect((50...61).contains(setting.source.count))
        setting.source.serve(TestIssuer.stranger.keySet)
        setting.clock.advance(by: .seconds(60))
        #expect(await setting.refusal(of: .stranger, kid: "unknown") == .unauthenticated)
        #expect(await setting.refusal(of: .stranger) == nil)
        #expect(await setting.refusal() == .unauthenticated)
    }

    @Test func `Unknown keys are fetched at most once a minute`() async throws {
        let setting = try Setting(TestIssuer.honest.keySet)
        await withTaskGroup(of: Problem.Code?.self) { group in
            for number in 0..<500 {
                group.addTask { await setting.refusal(of: .stranger, kid: .string("k-\(number)")) }
            }
            for await code in group { #expect(code == .unauthenticated) }
        }
        #expect(setting.source.count == 1)
        setting.clock.advance(by: .seconds(59))
        _ = await setting.refusal(kid: "new")
        #expect(setting.source.count == 1)
        setting.clock.advance(by: .seconds(1))
        _ = await setting.refusal(kid: "new")
        #expect(setting.source.count == 2)
    }

    @Test func `A rotated key is found`() async throws {
        var first = TestIssuer.honest.publicKey(.ec)
        first["kid"] = "old"
        let setting = try Setting(["keys": [.object(first)]])
        #expect(await setting.refusal(kid: "old") == nil)
        setting.source.serve(TestIssuer.honest.keySet)
        setting.clock.advance(by: .seconds(60))
        #expect(await setting.refusal() == nil)
        #expect(await setting.refusal(kid: "old") == .unauthenticated)
    }

    @Test func `A withdrawn key is rejected after a limited time`() async throws {
        let setting = try Setting(TestIssuer.honest.keySet)
        #expect(await setting.refusal() == nil)
        setting.source.serve(TestIssuer.stranger.keySet)
        setting.clock.advance(by: IssuerKeys.maximumAge)
        // The first token after that starts the fetch and does not wait for it.
        _ = await setting.refusal()
        while setting.source.count < 2 { await Task.yield() }
        while await setting.refusal() == nil { await Task.yield() }
        #expect(setting.source.count == 2)
    }

    @Test func `Without keys, a user gets a temporary error`() async throws {
        let setting = try Setting(nil)
        #expect(await setting.refusal() == .unavailable)
        #expect(await setting.refusal() == .unavailable)
        #expect(setting.source.count == 1)
        setting.source.serve(TestIssuer.honest.keySet)
        setting.clock.advance(by: .seconds(60))
        #expect(await setting.refusal() == nil)
    }

    @Test(arguments: [[:], ["keys": []], ["keys": [["kty": "oct", "k": "c2VjcmV0"]]], [], "x"] as [JSONValue])
    func `A response that is not a key set changes nothing`(_ answer: JSONValue) async throws {
        let setting = try Setting(TestIssuer.honest.keySet)
        #expect(await setting.refusal() == nil)
        setting.source.serve(answer)
        setting.clock.advance(by: .seconds(60))
        #expect(await setting.refusal(kid: "new") == .unauthenticated)
        #expect(setting.source.count == 2)
        #expect(await setting.refusal() == nil)
    }
}
