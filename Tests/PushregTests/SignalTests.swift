import Foundation
import Glibc
import HTTPTypes
import NIOCore
import NIOPosix
import PostgresDriver
import RegistryCore
import Synchronization
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct SignalTests {
    @Test(arguments: [
        ("initialising", SIGTERM), ("initialising", SIGINT), ("accepting", SIGTERM), ("accepting", SIGINT),
    ])
    func `The service stops its Postgres and exits with zero`(_ stage: String, _ signal: Int32) async throws {
        let directory = "/tmp/pushreg-signal-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let service = try RunningProgram.start(["serve", "--embedded", directory, "--port", "0"])
        #expect(await service.line(with: stage) != nil, "\(service.text)")
        // Ctrl-C reaches the whole process group, including the programs that create and start the database.
        if signal == SIGINT { service.sendToGroup(signal) } else { service.send(signal) }
        #expect(await service.end() == 0, "\(service.text)")
        #expect(RunningProgram.idsRunning(in: directory) == [])
        #expect(service.text.contains("accepting") == (stage == "accepting"))
        try await Program.run(["apps", "list", "--embedded", directory], gives: 0)
        #expect(RunningProgram.idsRunning(in: directory) == [])
    }

    @Test func `The service stops while Postgres does not answer`() async throws {
        let (accepted, accept) = AsyncStream.makeStream(of: Void.self)
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                accept.yield()
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let address = "host=127.0.0.1 port=\(try #require(server.localAddress?.port))"
        let service = try RunningProgram.start(["serve", "--database-url", address, "--request-timeout", "PT1H"])
        await accepted.first { _ in true }
        service.send(SIGTERM)
        // Without the signal, it would exit with 69 after the connection timeout.
        #expect(await service.end() == 0, "\(service.text)")
        try await server.close()
    }

    @Test func `A stopping service is not ready`() async throws {
        let (database, _) = try await TestDatabase.withScope()
        let service = try RunningProgram.start(
            ["serve", "--insecure-no-auth", "--port", "0", "--admin-port", "0", "--request-timeout", "PT30S"]
                + database.flags
        )
        let admin = try #require(await service.line(with: "admin port"), "\(service.text)")
        if !service.text.contains("accepting requests") { _ = await service.line(with: "accepting requests") }
        let ports = service.text.matches(of: /127\.0\.0\.1:(\d+)/).compactMap { Int($0.1) }
        let adminPort = try #require(admin.firstMatch(of: /127\.0\.0\.1:(\d+)/).flatMap { Int($0.1) })
        let port = try #require(ports.first { $0 != adminPort })
        #expect(try await Reply.to(.get, "/readyz", port: adminPort).status == 200)
        let holder = try await HeldTransaction("LOCK TABLE activities", in: database)
        async let lookup = Reply.to(.get, "\(ServiceProcess.app)/aliases/orderId/1/activities", port: port)
        try await holder.waitUntilSomebodyWaits()
        // The service is ready until the signal, and afterwards alive but not ready. A separate process polls, because
        // this process may run other tests at that time.
        let ask = "curl -s -o /dev/null -w '%{http_code}\\n' http://127.0.0.1:\(adminPort)"
        let watch = "echo asks; while s=$(\(ask)/readyz); [ $s = 200 ]; do :; done; echo $s; \(ask)/livez"
        let watcher = try RunningProgram.start("/bin/bash", ["-c", watch])
        _ = await watcher.line(with: "asks")
        service.send(SIGTERM)
        #expect(await watcher.end() == 0)
        #expect(watcher.text == "asks\n503\n200")
        try await holder.release()
        #expect(try await lookup.status == 200)
        #expect(await service.end() == 0, "\(service.text)")
    }

    @Test(arguments: [("Starting a service", SIGTERM), ("Starting a service", SIGINT), ("1.", SIGTERM), ("5.", SIGINT)])
    func `The demo stops and removes its data`(_ stage: String, _ signal: Int32) async throws {
        let demo = try RunningProgram.start(["demo"])
        let first = try #require(await demo.line(with: "a private Postgres"))
        let directory = try #require(first.firstMatch(of: /\/\S*pushreg-demo-\S+/)).output
        if !first.contains(stage) { #expect(await demo.line(with: stage) != nil, "\(demo.text)") }
        if signal == SIGINT { demo.sendToGroup(signal) } else { demo.send(signal) }
        #expect(await demo.end() == 1, "\(demo.text)")
        #expect(demo.text.hasSuffix("The demo was interrupted; its service and database are stopped and removed."))
        #expect(RunningProgram.idsRunning(in: String(directory)) == [])
        #expect(!FileManager.default.fileExists(atPath: String(directory)))
    }

    /// As in `pushreg … | head`.
    @Test(arguments: [["apps", "list", "--embedded", "/tmp/pushreg-signal-\(UUID())"], ["demo"]])
    func `A reader that closes its pipe leaves no Postgres running`(_ command: [String]) async throws {
        let line = "'\(Program.executable.path)' \(command.joined(separator: " ")) | true; echo ${PIPESTATUS[0]}"
        let outcome = try await Program.run("/bin/bash", ["-c", line])
        #expect(outcome.results == "1\n")
        #expect(outcome.words.contains("The output could not be written"))
        let made = outcome.words.firstMatch(of: /\/\S*pushreg-demo-\S+/).map { String($0.output) }
        let directory = try #require(made ?? command.last, "\(outcome.words)")
        #expect(RunningProgram.idsRunning(in: directory) == [])
        if made != nil { #expect(!FileManager.default.fileExists(atPath: directory)) }
        try? FileManager.default.removeItem(atPath: directory)
    }
}

@Suite(.timeLimit(.minutes(15))) struct ListeningTests {
    @Test(arguments: [
        ("nowhere.invalid", "pushreg: The host nowhere.invalid is unknown. "),
        ("192.0.2.1", "pushreg: Cannot listen on 192.0.2.1:0: this machine has no such address.\n"),
    ])
    func `An address that this machine does not have gets a clear message`(_ host: String, _ sentence: String)
        async throws
    {
        let database = try await TestDatabase.make()
        let outcome = try await Program.run(["serve", "--host", host, "--port", "0"] + database.flags, gives: 69)
        // One sentence, without text from the libraries.
        #expect(outcome.words.hasPrefix(sentence), "\(outcome.words)")
        #expect(outcome.words.split(separator: "\n").count == 1, "\(outcome.words)")
    }

    @Test func `The admin port is open and logs its address`() async throws {
        let database = try await TestDatabase.make()
        let flags = ["serve", "--port", "0"] + database.flags
        let service = try RunningProgram.start(flags + ["--admin-port", "0"])
        let line = try #require(await service.line(with: "admin port"), "\(service.text)")
        let place = try #require(line.firstMatch(of: #/"metrics":"http://127\.0\.0\.1:(\d+)/metrics"/#))
        let port = try #require(Int(place.1))
        let metrics = try await Reply.to(.get, "/metrics", port: port).text
        let version = try await Program.run(["--version"]).results.trimmingCharacters(in: .newlines)
        #expect(metrics.contains(#"pushreg_build_info{version="\#(version)","#), "\(metrics)")
        let words = "another program uses it. Choose another --admin-port."
        try await Program.run(flags + ["--admin-port", "\(port)"], gives: 69, words)
        service.send(SIGTERM)
        #expect(await service.end() == 0)
    }

    @Test(arguments: ["info", "critical"]) func `One line has the service's addresses`(_ level: String) async throws {
        let database = try await TestDatabase.make()
        let service = try RunningProgram.start(["serve", "--port", "0", "--log-level", level] + database.flags)
        let line = try #require(await service.line(with: "accepting requests"), "\(service.text)")
        service.send(SIGTERM)
        #expect(await service.end() == 0)
        #expect(service.text == line)
        let all = try JSONParser.parse(line)["addresses"]?.elements ?? []
        #expect(all.count == 1)
        #expect(all.first?.string?.wholeMatch(of: /http:\/\/127\.0\.0\.1:\d+/) != nil)
    }
}

@Suite(.timeLimit(.minutes(15))) struct DemoTests {
    @Test func `The demo plays to its end`() async throws {
        let outcome = try await Program.run(["demo", "--quick"], gives: 0)
        #expect(outcome.results.hasSuffix("All responses are as expected.\n"))
        #expect(outcome.results.contains(#/registrations in [0-9]+\.[0-9]{2} s\n/#), "\(outcome.results)")
        #expect(outcome.results.contains(#/POST \S+/feedback .*"status":410/#), "\(outcome.results)")
    }

    @Test func `The demo plays on a running service`() async throws {
        let database = try await TestDatabase.make()
        let service = try await ServiceProcess.start(on: database)
        try await Program.run(["demo", "--quick", "--url", "http://127.0.0.1:\(service.port)/"], gives: 0)
        #expect(await service.stop() == 0)
    }

    @Test(arguments: [
        ("http://127.0.0.1:9", "pushreg: No service answers at http://127.0.0.1:9: Connection refused.\n"),
        ("http://nowhere.invalid", "pushreg: No service answers at http://nowhere.invalid.\n"),
    ])
    func `A missing service gets a clear message`(_ url: String, _ sentence: String) async throws {
        #expect(try await Program.run(["demo", "--url", url], gives: 69).words == sentence)
    }

    /// The service's statuses (503 several times, then 404), the number of attempts, and the demo's message.
    @Test(arguments: [(1, 2, 1, "the app exists"), (.max, 6, 69, "keeps responding with 503")])
    func `An unavailable service is retried a few times`(
        _ faults: Int,
        _ calls: Int,
        _ status: Int32,
        _ sentence: String
    ) async throws {
        let answered = Mutex(0)
        let configuration = ServerConfiguration(port: 0)
        try await serve {
            try Listener(configuration, logger: .silent, onServing: $0) { _ in
                let number = answered.withLock { count in
                    count += 1
                    return count
                }
                return Response(status: number <= faults ? .serviceUnavailable : .notFound)
            }
        } _: { port in
            _ = try await Program.run(["demo", "--url", "http://127.0.0.1:\(port)"], gives: status, sentence)
        }
        #expect(answered.withLock { $0 } == calls)
    }
}
