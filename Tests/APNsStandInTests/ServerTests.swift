import APNsStandIn
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import Testing

@Suite(.timeLimit(.minutes(2))) struct ServerTests {
    private func client<Value>(
        _ standIn: APNsStandIn,
        _ body: (HTTPClient) async throws -> Value
    ) async throws -> Value {
        var configuration = HTTPClient.Configuration()
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(standIn.certificateFile)
        configuration.tlsConfiguration = tls
        return try await HTTPClient.withHTTPClient(configuration: configuration, body)
    }

    private func request(_ standIn: APNsStandIn, _ jwt: String) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: "\(standIn.address)/3/device/aa")
        request.method = .POST
        request.headers = [
            "authorization": "bearer \(jwt)", "apns-topic": ModelTests.topic, "apns-push-type": "liveactivity",
            "apns-priority": "5", "apns-id": "5D1C0A9E-0000-4000-8000-000000000000",
        ]
        request.body = .bytes(ByteBuffer(string: #"{"aps":{"timestamp":200,"event":"update","content-state":{}}}"#))
        return request
    }

    private func run(_ test: (APNsStandIn, HTTPClient, String) async throws -> Void) async throws {
        try await APNsStandIn.run { standIn in
            standIn.change { $0.add("aa", .activity(phone: "p", id: "a"), topic: ModelTests.topic) }
            let jwt = try standIn.key.token(issuedAt: standIn.clock.start)
            try await client(standIn) { try await test(standIn, $0, jwt) }
        }
    }

    @Test func `HTTP2 responses over TLS repeat the apns-id, and a 410 has its time`() async throws {
        try await run { standIn, client, jwt in
            let taken = try await client.execute(request(standIn, jwt), timeout: .seconds(10))
            #expect(taken.status == .ok)
            #expect(taken.version == .http2)
            #expect(taken.headers.first(name: "apns-id") == "5D1C0A9E-0000-4000-8000-000000000000")
            standIn.change { $0.kill("aa", at: Date(timeIntervalSince1970: 1_800_000_000.5)) }
            let gone = try await client.execute(request(standIn, jwt), timeout: .seconds(10))
            let body = String(buffer: try await gone.body.collect(upTo: 1000))
            #expect(gone.status == .gone && body == #"{"reason":"Unregistered","timestamp":1800000000500}"#)
        }
    }

    @Test func `A connection gets GOAWAY after n requests, and the next connection continues`() async throws {
        try await run { standIn, client, jwt in
            standIn.setFaults { $0.goAwayAfter = 2 }
            for _ in 0..<6 {
                let answer = try await client.execute(request(standIn, jwt), timeout: .seconds(10))
                #expect(answer.status == .ok)
            }
            #expect(standIn.connections >= 3)
        }
    }

    @Test func `Each n-th request gets 503, 429 or a connection reset after the push was accepted`() async throws {
        try await run { standIn, client, jwt in
            standIn.setFaults {
                $0.unavailableEvery = 2
                $0.tooManyEvery = 3
                $0.resetEvery = 5
                $0.answerDelay = .milliseconds(20)
            }
            var answers: [UInt] = []
            for _ in 0..<5 {
                let answer = try? await client.execute(request(standIn, jwt), timeout: .seconds(10))
                answers.append(answer?.status.code ?? 0)
            }
            #expect(answers == [200, 503, 429, 503, 0])
            #expect(standIn.model.records.map(\.answer.status) == [200, 503, 429, 503, 200])
        }
    }

    @Test func `A faster clock shows and pauses its own seconds`() {
        let clock = APNsClock(start: Date(timeIntervalSince1970: 100), speed: 60)
        #expect(clock.shown(at: Date(timeIntervalSince1970: 101)) == Date(timeIntervalSince1970: 160))
        #expect(clock.pause(seconds: 120) == .seconds(2))
    }
}
