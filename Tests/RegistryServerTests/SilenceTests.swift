import AsyncHTTPClient
import HTTPTypes
import NIOCore
import NIOHTTP1
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

/// Response times reveal nothing about other apps to a key. `RightsMatrixTests` compares the bytes.
@Suite(.secureService, .serialized, .timeLimit(.minutes(15))) struct SilenceTests {
    private static let rounds = TestScale.isLong ? 3000 : 400

    /// The medians of alternating calls, so that other work slows all of them equally.
    private static func medians(_ server: LiveServer, _ requests: [HTTPClientRequest]) async throws -> [Duration] {
        var times = [[Duration]](repeating: [], count: requests.count)
        let clock = ContinuousClock()
        for round in 0..<(rounds + 20) {
            for step in requests.indices {
                // Each position occurs equally often.
                let index = (step + round) % requests.count
                let start = clock.now
                let response = try await HTTPClient.shared.execute(requests[index], timeout: .seconds(30))
                _ = try await response.body.collect(upTo: 1 << 16)
                #expect(response.status == .notFound)
                if round >= 20 { times[index].append(clock.now - start) }
            }
        }
        return times.map { $0.sorted()[$0.count / 2] }
    }

    @Test(arguments: [Role.client, .sender, .admin])
    func `A call to another app takes as long as a call to a missing app`(role: Role) async throws {
        _ = try await server.registry.put(AppChanges(), for: BundleID("com.example.cook"), by: "test")
        let key = try await server.key(role).key.text.revealed
        let method: HTTPRequest.Method = role == .client ? .delete : .get
        let requests = ["cook", "none", "food"].map { name in
            var request = HTTPClientRequest(
                url: "http://127.0.0.1:\(server.port)/v1/apps/com.example.\(name)/sandbox/activities/a"
            )
            request.method = .RAW(value: method.rawValue)
            request.headers.add(name: "Authorization", value: "Bearer \(key)")
            return request
        }
        let asked = role == .client ? Array(requests.prefix(2)) : requests
        var (isSilent, isSeen) = (false, role == .client)
        // Other work on the machine can disturb a measurement, so one good measurement of three is enough.
        for _ in 0..<3 where !(isSilent && isSeen) {
            let times = try await Self.medians(server, asked)
            let ratio = times[0] / times[1]
            print("figure: \(role): another app \(times[0]), none \(times[1]), of \(Self.rounds), ratio \(ratio)")
            isSilent = isSilent || (0.8...1.25).contains(ratio)
            // The control: a call that reads from Postgres must be measurably slower.
            isSeen = isSeen || times[2] - times[1] > .microseconds(100)
        }
        #expect(isSilent)
        #expect(isSeen)
    }
}
