import AsyncHTTPClient
import EmbeddedPostgres
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// Secrets nowhere that they do not belong: thousands of canaries through every path of a service that logs all it can.
///
/// Left out on purpose, because the caller himself makes a name of it: `Request-Id`, which is echoed, and the ids and
/// aliases under which things are stored.
@Suite(.timeLimit(.minutes(15))) struct CanaryTests {
    private static let count = TestScale.isLong ? 3400 : 170

    /// A service on a Postgres of its own, with its default settings, and a key of each role.
    private struct Service {
        let program: RunningProgram
        let address: String
        let keys: [Role: String]

        static func start(in directory: String) async throws -> Service {
            let place = ["--embedded", directory]
            let app = try await Program.run(["apps", "create", "com.example.food"] + place)
            #expect(app.status == 0, "\(app.words)")
            var keys: [Role: String] = [:]
            for role in [Role.client, .sender, .admin, .root] {
                let owner = role == .root ? [] : ["--app", "com.example.food"]
                let outcome = try await Program.run(["keys", "create", "--role", role.rawValue] + owner + place)
                keys[role] = outcome.results.trimmingCharacters(in: .whitespacesAndNewlines)
            }
            let program = try RunningProgram.start(["serve", "--port", "0", "--log-level", "trace"] + place)
            let line = try #require(await program.line(with: "accepting requests"), "\(program.text)")
            let address = try #require(line.firstMatch(of: /http:\/\/127\.0\.0\.1:\d+/)).output
            return Service(program: program, address: String(address), keys: keys)
        }

        func send(_ canary: CanaryRequest) async throws -> (status: Int, text: String) {
            var request = HTTPClientRequest(url: address + canary.path)
            request.method = canary.method
            for (name, value) in canary.fields { request.headers.add(name: name, value: value) }
            if let body = canary.body { request.body = .bytes(ByteBuffer(bytes: body)) }
            if canary.body != nil, request.headers["Content-Type"].isEmpty {
                request.headers.add(name: "Content-Type", value: "application/json")
            }
            if request.headers["Authorization"].isEmpty, let key = keys[canary.role] {
                request.headers.add(name: "Authorization", value: "Bearer \(key)")
            }
            let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
            let body = String(buffer: try await response.body.collect(upTo: 1 << 22))
            return (Int(response.status.code), "\(response.headers)\n\(body)")
        }
    }

    @Test func foundNowhere() async throws {
        let directory = "/tmp/pushreg-canary-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let service = try await Service.start(in: directory)
        var search = CanarySearch()
        for key in service.keys.values { search.add(String(key.dropFirst(17))) }
        let answers = try await flood(service, &search)
        try await makeKeys(service, &search)
        #expect(answers.fivehundreds == 0 && answers.refused > Self.count * 20, "\(answers)")
        #expect(answers.found == 0, "\(answers.found) canaries in answers, such as: \(answers.example)")

        let events = try await events(in: directory)
        #expect(events.count > Self.count)
        #expect(search.count(in: events.joined(separator: "\n")) == 0)
        service.program.send(SIGTERM)
        #expect(await service.program.end() == 0)
        let log = service.program.text
        #expect(log.contains("\"request\"") && log.split(separator: "\n").count > Self.count * 20)
        #expect(search.count(in: log) == 0 && !CanarySearch.holdsByteArray(log))
        let databaseLog = try String(contentsOfFile: directory + "/postgres.log", encoding: .utf8)
        #expect(databaseLog.contains("ready to accept connections"))
        #expect(search.count(in: databaseLog) == 0)
    }

    private struct Answers {
        var (found, refused, fivehundreds, example) = (0, 0, 0, "")
    }

    /// Sends all requests of all canaries; none may come back, and none but a sender sees a token.
    private func flood(_ service: Service, _ search: inout CanarySearch) async throws -> Answers {
        var answers = Answers()
        for number in 0..<Self.count {
            let canary = Canary()
            for secret in canary.secrets { search.add(secret) }
            for request in CanaryRequest.all(canary, number) {
                let answer = try await service.send(request)
                if answer.status >= 400 { answers.refused += 1 }
                if answer.status >= 500 { answers.fivehundreds += 1 }
                guard search.count(in: answer.text) > 0 else { continue }
                answers.found += 1
                answers.example = "\(request.method) \(request.path.count) \(answer.text.prefix(400))"
            }
            try await control(number, service, search)
        }
        return answers
    }

    /// The search finds what it should: a sender gets a token, whole.
    private func control(_ number: Int, _ service: Service, _ search: CanarySearch) async throws {
        guard number.isMultiple(of: 50) else { return }
        let canary = Canary()
        var all = search
        for secret in canary.secrets { all.add(secret) }
        let requests = CanaryRequest.all(canary, 1_000_000 + number)
        #expect(try await service.send(requests[0]).status == 201)
        let path = requests[0].path
        let answer = try await service.send(CanaryRequest(method: .GET, path: path, role: .sender))
        #expect(answer.status == 200 && all.count(in: answer.text) > 0)
        #expect(search.count(in: answer.text) == 0)
    }

    /// A new key's secret is in the answer to who made it, and nowhere else.
    private func makeKeys(_ service: Service, _ search: inout CanarySearch) async throws {
        for _ in 0..<20 {
            let request = CanaryRequest(
                method: .POST,
                path: "/v1/apps/com.example.food/keys",
                body: Array(#"{"role":"sender"}"#.utf8),
                role: .admin
            )
            let answer = try await service.send(request)
            let key = try #require(answer.text.firstMatch(of: /"key":\s*"(prs_[0-9A-Za-z]{12}_[0-9A-Za-z]{30})"/)?.1)
            search.add(String(key.dropFirst(17)))
            let list = CanaryRequest(method: .GET, path: request.path, role: .admin)
            #expect(search.count(in: try await service.send(list).text) == 0)
        }
    }

    private func events(in directory: String) async throws -> [String] {
        let postgres = try await EmbeddedPostgres.open(directory, logger: Logger(label: "canary"))
        let pool = PostgresPool(
            databaseURL: postgres.connectionString,
            maximumConnections: 1,
            logger: Logger(label: "canary")
        )
        let rows = try await pool.withSession { session in
            try session.execute("SELECT e::text FROM events e").rows.map { try $0.column(0, as: String.self) }
        }
        await pool.shutdown()
        await postgres.close()
        return rows
    }
}
