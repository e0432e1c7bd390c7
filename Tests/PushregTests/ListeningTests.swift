import Foundation
import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct ListeningTests {
    @Test(arguments: [
        ("nowhere.invalid", "pushreg: The host nowhere.invalid is unknown. "),
        ("192.0.2.1", "pushreg: Cannot listen on 192.0.2.1:0: this machine has no such address.\n"),
    ])
    func `An address that this machine does not have gets a clear message`(_ host: String, _ sentence: String)
        async throws
    {
        let database = try await TestDatabase.make()
        let outcome = try await Program.run(["serve", "--host", host, "--port", "0"] + database.flags)
        #expect(outcome.status == 69)
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
        let second = try await Program.run(flags + ["--admin-port", "\(port)"])
        #expect(second.status == 69)
        #expect(second.words.contains("another program uses it. Choose another --admin-port."))
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
