import Foundation
import HTTPTypes
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

/// Searches for secrets in all output: thousands of canaries through every path of a service at its highest log level.
///
/// Excluded because callers choose them as names: `Request-Id`, which is returned, and the ids and aliases of records.
@Suite(.timeLimit(.minutes(120))) struct CanaryTests {
    private static let count = TestScale.isLong ? 3400 : 30
    private static let callers = 4

    private struct Service {
        let process: ServiceProcess
        let keys: [Role: String]

        static func start(on databaseURL: String) async throws -> Service {
            let place = ["--database-url", databaseURL]
            try await Program.run(["migrate"] + place, gives: 0)
            try await Program.run(["apps", "create", "com.example.food"] + place, gives: 0)
            var keys: [Role: String] = [:]
            for role in [Role.client, .sender, .admin, .root] {
                let owner = role == .root ? [] : ["--app", "com.example.food"]
                let outcome = try await Program.run(["keys", "create", "--role", role.rawValue] + owner + place)
                keys[role] = outcome.results.trimmingCharacters(in: .whitespacesAndNewlines)
            }
            let flags = ["--log-level", "trace"]
            let process = try await ServiceProcess.start(database: place, arguments: flags, isInsecure: false)
            return Service(process: process, keys: keys)
        }

        func send(_ request: CanaryRequest) async throws -> (status: Int, text: String) {
            var fields = request.fields
            if request.body != nil, fields[.contentType] == nil { fields[.contentType] = "application/json" }
            if fields[.authorization] == nil { fields[.authorization] = keys[request.role].map { "Bearer \($0)" } }
            let reply = try await Reply.to(request.method, request.path, fields, request.body, port: process.port)
            return (reply.status, "\(reply.fields)\n\(reply.text)")
        }
    }

    /// Settings that an operator may use to see more. The service itself must keep the values of failing statements out.
    private static let talkative = [
        "log_statement": "all", "log_min_duration_statement": "0", "log_parameter_max_length_on_error": "-1",
        "log_min_messages": "debug1", "log_connections": "on",
    ]

    @Test func `No log, metric, page or file contains a caller's secrets or tokens`() async throws {
        let cluster = FaultCluster(settings: Self.talkative)
        let database = try await cluster.start()
        let service = try await Service.start(on: database)
        try await flood(service, database, log: cluster.directory + "/postgres.log")
        await cluster.remove()
    }

    private func flood(_ service: Service, _ database: String, log databaseLogFile: String) async throws {
        let canaries = (0..<Self.count).map { _ in Canary() }
        var search = CanarySearch()
        for key in service.keys.values { search.add(String(key.dropFirst(17))) }
        for secret in canaries.flatMap(\.secrets) { search.add(secret) }
        let answers = try await send(canaries, to: service, search)
        try await makeKeys(service, &search)
        #expect(!answers.statuses.contains { $0 >= 500 } && answers.statuses.count { $0 >= 400 } > Self.count * 20)
        #expect(answers.found == [])
        let planted = try await plant(service, database)
        let events = try await events(database)
        #expect(events.count > Self.count)
        #expect(search.count(in: events.joined(separator: "\n")) == 0)
        #expect(await service.process.stop() == 0)
        let log = service.process.log
        #expect(log.contains("\"request\""))
        #expect(log.split(separator: "\n").count > Self.count * 20)
        #expect(search.count(in: log) == 0 && !CanarySearch.holdsByteArray(log))
        #expect(planted.count(in: log) > 0, "the control is not in the log")
        let databaseLog = try String(contentsOfFile: databaseLogFile, encoding: .utf8)
        #expect(databaseLog.contains("INSERT INTO"))
        #expect(databaseLog.utf8.count > Self.count * 1000)
        #expect(search.count(in: databaseLog) == 0)
        #expect(planted.count(in: databaseLog) > 0, "the control is not in Postgres's log")
        print(
            """
            figure: \(Self.count * 3) canaries in \(answers.statuses.count) requests, found nowhere: answers, \(log.utf8.count / 1024) KiB of \
            log, \(databaseLog.utf8.count / 1024) KiB of Postgres's log, \(events.count) events
            """
        )
    }

    private struct Answers {
        var statuses: [Int] = []
        /// The responses that contain a canary.
        var found: [String] = []
    }

    private func send(_ canaries: [Canary], to service: Service, _ search: CanarySearch) async throws -> Answers {
        let all = try await concurrently(0..<Self.callers) { caller in
            var answers = Answers()
            for number in stride(from: caller, to: canaries.count, by: Self.callers) {
                for request in CanaryRequest.all(canaries[number], number) {
                    let answer = try await service.send(request)
                    answers.statuses.append(answer.status)
                    guard search.count(in: answer.text) > 0 else { continue }
                    answers.found.append("\(request.method) \(request.path.count) \(answer.text.prefix(400))")
                }
                try await control(number, service, search)
            }
            return answers
        }
        return Answers(statuses: all.flatMap(\.statuses), found: all.flatMap(\.found))
    }

    private func plant(_ service: Service, _ database: String) async throws -> CanarySearch {
        let canary = Canary()
        var planted = CanarySearch()
        planted.add(canary.installation)
        let fields: HTTPFields = [HTTPField.Name("Request-Id")!: canary.installation]
        let named = CanaryRequest(method: .get, path: "/livez", fields: fields)
        #expect(try await service.send(named).status == 200)
        try await TestDatabase.run("SELECT '\(canary.installation)'", on: database)
        return planted
    }

    /// The search must find a token that a sender receives.
    private func control(_ number: Int, _ service: Service, _ search: CanarySearch) async throws {
        guard number.isMultiple(of: 50) else { return }
        let canary = Canary()
        var all = search
        for secret in canary.secrets { all.add(secret) }
        let requests = CanaryRequest.all(canary, 1_000_000 + number)
        #expect(try await service.send(requests[0]).status == 201)
        let path = requests[0].path
        let answer = try await service.send(CanaryRequest(method: .get, path: path, role: .sender))
        #expect(answer.status == 200 && all.count(in: answer.text) > 0)
        #expect(search.count(in: answer.text) == 0)
    }

    /// A new key's secret is only in the response to its creation.
    private func makeKeys(_ service: Service, _ search: inout CanarySearch) async throws {
        for _ in 0..<20 {
            let (path, body) = ("/v1/apps/com.example.food/keys", Array(#"{"role":"sender"}"#.utf8))
            let request = CanaryRequest(method: .post, path: path, body: body, role: .admin)
            let answer = try await service.send(request)
            let key = try #require(answer.text.firstMatch(of: /"key":\s*"(prs_[0-9A-Za-z]{12}_[0-9A-Za-z]{30})"/)?.1)
            search.add(String(key.dropFirst(17)))
            let list = CanaryRequest(method: .get, path: path, role: .admin)
            #expect(search.count(in: try await service.send(list).text) == 0)
        }
    }

    private func events(_ database: String) async throws -> [String] {
        try await TestDatabase.withPool(database) { pool in
            try await pool.withSession { try $0.execute("SELECT e::text FROM events e").decode(String.self) }
        }
    }
}
