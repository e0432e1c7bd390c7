import AsyncHTTPClient
import Foundation
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct HostilityTests {
    private static let callsEach = TestScale.isLong ? 2000 : 60
    private static let callers = 4

    @Test func `Healthy callers are served during attacks`() async throws {
        let database = try await TestDatabase.make()
        let service = try await ServiceProcess.start(on: database)
        try await service.makeApp()
        _ = try await Self.slowestHundredth(service, "warm")
        // Other work on the machine can disturb a measurement, so one good measurement of three is enough.
        var isUndisturbed = false
        for round in 0..<3 where !isUndisturbed { isUndisturbed = try await Self.measure(service, round) }
        #expect(isUndisturbed)
        #expect(await service.stop() == 0)
    }

    private static func measure(_ service: ServiceProcess, _ round: Int) async throws -> Bool {
        let before = try await slowestHundredth(service, "before-\(round)")
        let hostility = Task { try await attack(service.port) }
        let attacked = try await slowestHundredth(service, "attacked-\(round)")
        hostility.cancel()
        let attacks = try await hostility.value
        let calm = max(before, try await slowestHundredth(service, "after-\(round)"))
        print("figure: p99 of \(callers * callsEach * 2) calls \(calm), and \(attacked) during \(attacks) attacks")
        #expect(attacks >= Self.attacks.count)
        // In a short run, one percent is a handful of calls, and a debug build needs a tenth of a second for the
        // largest body. A caller blocked by an attacker waits for seconds.
        return attacked < calm * 2 + (TestScale.isLong ? .milliseconds(20) : .milliseconds(500))
    }

    private static func slowestHundredth(_ service: ServiceProcess, _ name: String) async throws -> Duration {
        let all = try await withThrowingTaskGroup(of: [Duration].self) { group in
            for caller in 0..<callers {
                group.addTask {
                    var times: [Duration] = []
                    for number in 0..<callsEach {
                        let alias = "\(name)-\(caller)-\(number)"
                        let write = try await service.register(alias, number: number * 8 + caller, alias: alias)
                        let path = "\(ServiceProcess.app)/aliases/testId/\(alias)/activities"
                        let read = try await service.call("GET", path)
                        #expect(write.status == 201)
                        #expect(read.status == 200)
                        times += [write.duration, read.duration]
                    }
                    return times
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        return all.sorted()[all.count * 99 / 100]
    }

    private static func attack(_ port: Int) async throws -> Int {
        // Attackers that keep connections: unfinished headers and bodies, and readers that do not read.
        let held = try (0..<60).map { number in
            let connection = try RawConnection(port: port, receiveBuffer: 4096)
            connection.send(holding[number % holding.count])
            return connection
        }
        return try await withThrowingTaskGroup(of: Int.self) { group in
            for attack in attacks {
                group.addTask {
                    var count = 0
                    repeat {
                        let connection = try RawConnection(port: port)
                        _ = await connection.send(Array(attack.utf8), times: 1)
                        connection.finishSending()
                        _ = await connection.read()
                        count += 1
                        // Ten kinds, five times per second: one tenth of the valid requests allowed per address.
                        try? await Task.sleep(for: .milliseconds(200))
                    } while !Task.isCancelled
                    return count
                }
            }
            let count = try await group.reduce(0, +)
            withExtendedLifetime(held) {}
            return count
        }
    }

    private static let host = "Host: localhost\r\n"
    private static let path = "\(ServiceProcess.app)/activities/hostile"

    private static let holding = [
        "GET /livez HTTP/1.1\r\n\(host)X: ", "PUT \(path) HTTP/1.1\r\n\(host)Content-Length: 60000\r\n\r\n{",
        "GET /openapi.json HTTP/1.1\r\n\(host)\r\n",
    ]

    private static func put(_ body: String, to path: String = path) -> String {
        "PUT \(path) HTTP/1.1\r\n\(host)Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    private static let attacks = [
        "GET / HTTP/1.1\r\n" + (0..<100_000).map { "X-\($0): y\r\n" }.joined(),
        "GET /\(String(repeating: "%41", count: 300_000)) HTTP/1.1\r\n\(host)\r\n", "NONSENSE\r\n\r\n",
        put(String(repeating: "[", count: 60_000)), put(String(repeating: #"{"a":"#, count: 10_000)),
        put(#"{"token":""# + String(repeating: "0", count: 60_000) + #""}"#),
        put(
            #"{"observedAt":1,"activities":["# + String(repeating: "{},", count: 600_000) + "{}]}",
            to: "\(ServiceProcess.app)/installations/i/activities"
        ),
        "PUT \(path) HTTP/1.1\r\n\(host)Content-Length: 1073741824\r\n\r\n" + String(repeating: " ", count: 4_000_000),
        String(repeating: "GET /none HTTP/1.1\r\n\(host)\r\n", count: 200),
        put(#"{"token":"00","aliases":{"# + (0..<3000).map { #""k\#($0)":"v""# }.joined(separator: ",") + "}}"),
    ]
}
