import ArgumentParser
import Foundation
import RegistryCore

struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Plays examples through the HTTP API and shows each call and response.",
        discussion: """
            Without --url it starts a service on a private Postgres, and removes both afterwards. A service given with \
            --url must run with --insecure-no-auth, or PUSHREG_KEY must be an admin key of com.example.food. \
            The exit code is 1 if a response is not as expected.
            """
    )

    @Option(help: "The URL of the service, such as http://127.0.0.1:8080 (PUSHREG_URL).") var url: String?
    @Flag(help: "Registers 200 activities under one alias instead of 10,000.") var quick = false

    func run() async throws {
        let crowd = quick ? 200 : 10_000
        var flags: [Setting: JSONValue] = [:]
        flags[.url] = url.map { .string($0) }
        let sources = try SettingSources(flags: flags)
        if let url = try sources.find(.url)?.text, !url.isEmpty {
            let key = ProcessInfo.processInfo.environment["PUSHREG_KEY"]
                .map { Secret($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
            try await DemoLives.play(on: Self.base(of: url), key: key, crowd: crowd)
        } else {
            try await DemoWithOwnService(crowd: crowd).runUntilSignal()
        }
    }

    private static func base(of url: String) throws(CommandFailure) -> String {
        let parts = URLComponents(string: url)
        guard let parts, ["http", "https"].contains(parts.scheme?.lowercased()), parts.host?.isEmpty == false,
            (1...65_535).contains(parts.port ?? 80), parts.user == nil, parts.query == nil, parts.fragment == nil
        else { throw CommandFailure(.usage, "--url must be a URL such as http://127.0.0.1:8080.") }
        return url.hasSuffix("/") ? String(url.dropLast()) : url
    }
}
