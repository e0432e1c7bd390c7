import Crypto
import Foundation
import RegistryCore
import Testing

@testable import pushreg

/// Mistakes in the arguments of `pushreg send`: each gets a sentence before anything is looked up or sent.
@Suite(.timeLimit(.minutes(5))) struct SendArgumentTests {
    private static let content = ["--content-state", "{}"]
    private static let key = ["--key", "/nowhere.p8", "--key-id", "ABC123DEFG", "--team-id", "TEAM123456"]
    private static let start = content + ["--start", "T", "--attributes", "{}", "--alert-title", "Now", "--dry-run"]

    private func send(_ arguments: [String], environment: String = "sandbox") async throws -> Program.Outcome {
        try await Program.run(
            ["send", "com.example.food", environment, "liveactivityId", "order-42", "--database-url", "host=/nowhere"]
                + arguments
        )
    }

    private static let mistakes: [(arguments: [String], sentence: String)] = [
        ([], "Give --content-state"),
        (["--content-state", "{"], "--content-state is not JSON. Byte 1"),
        (["--content-state", "[1]"], "--content-state must be a JSON object"),
        (["--content-state", "@/nowhere.json"], "/nowhere.json is no file"),
        (["--content-state", #"{"text":"\#(String(repeating: "a", count: 4096))"}"#], "APNs takes 4096"),
        (content + ["--event", "start"], "--event must be update or end. --start begins an activity."),
        (content + ["--priority", "1"], "--priority must be 5 or 10."),
        (content + ["--stale-date", "soon"], "--stale-date must be an RFC 3339 time"),
        (content + ["--dismissal-date", "2026-03-01T12:00:00Z"], "goes with --event end"),
        (content + ["--alert-body", "Now"], "goes with --alert-title"),
        (content + ["--attributes", "{}"], "go with --start"),
        (content + ["--start", "T"], "Give --attributes"),
        (content + ["--start", "T", "--attributes", "{}"], "Give --alert-title"),
        (["--event", "end", "--start", "T"], "give one of them"),
        (start + ["--to", "u-7"], "--to must be kind:value"),
        (start + ["--lease", "long"], "--lease must be an ISO 8601 duration"),
        (content, "Give --key, --key-id and --team-id"),
        (content + ["--key", "/nowhere.p8"], "Give --key, --key-id and --team-id"),
        (content + key, "--key: /nowhere.p8 is no file"),
        (content + key + ["--key-id", "short"], "--key-id must be ten letters and digits"),
        (content + key + ["--team-id", "com.example"], "--team-id must be ten letters and digits"),
        (content + ["--dry-run", "--apns-url", "http://localhost"], "--apns-url must be https://"),
        (content + ["--dry-run", "--apns-url", "https://localhost/3"], "--apns-url must be https://"),
        (content + ["--dry-run", "--apns-root", "/nowhere.pem"], "/nowhere.pem is no file"),
        (content + ["--dry-run", "--apns-root", "/etc/passwd"], "holds no certificate in PEM"),
    ]

    @Test("Mistakes get a sentence and exit with 64", arguments: mistakes)
    func mistakesGetASentence(_ arguments: [String], _ sentence: String) async throws {
        let outcome = try await send(arguments)
        #expect(outcome.status == 64, "\(outcome.words)")
        #expect(outcome.words.contains(sentence) && outcome.results == "", "\(outcome.words)")
    }

    @Test("The environment is sandbox or production") func environmentIsKnown() async throws {
        let outcome = try await send(Self.content + ["--dry-run"], environment: "mars")
        #expect(outcome.status == 64 && outcome.words.contains("ENVIRONMENT must be sandbox or production."))
    }

    @Test("A lease is as long as the plan takes", arguments: ["PT59S", "P2D"]) func leaseIsChecked(_ lease: String)
        async throws
    {
        try await SendTrial.run { trial in
            let outcome = try await trial.send(SendTrial.start + ["--lease", lease])
            #expect(outcome.status == 64 && outcome.words.contains("--lease must be from PT1M to PT8H."))
        }
    }

    @Test("Unless said, a lease is no longer than the app's activities live") func usualLeaseFits() throws {
        let request = PlanRequest(
            alias: try Alias(kind: "liveactivityId", value: "order-42"),
            attributesType: try AttributesType("Delivery")
        )
        var app = App(
            number: 1,
            bundleID: try BundleID("com.example.food"),
            settings: AppSettings(),
            createdAt: Date(),
            updatedAt: Date()
        )
        #expect(try ActivityStart(attributes: [:], request: request).request(in: app).lease == .seconds(3600))
        app.settings.activityLifetime = .seconds(600)
        #expect(try ActivityStart(attributes: [:], request: request).request(in: app).lease == .seconds(600))
    }

    private static let keys: [(pem: String, sentence: String)] = [
        ("", "is no private key in PEM"),
        ("eyJhbGciOi", "is no private key in PEM"),
        ("-----BEGIN PRIVATE KEY-----\nno base64\n-----END PRIVATE KEY-----\n", "is no private key in PEM"),
        (P256.Signing.PrivateKey().publicKey.pemRepresentation, "is no private key in PEM"),
        (P384.Signing.PrivateKey().pemRepresentation, "holds no private key of the curve P-256"),
    ]

    @Test("A file that is no key of APNs gets a sentence that repeats nothing of it", arguments: keys)
    func keyFilesAreChecked(_ pem: String, _ sentence: String) async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pushreg-\(UUID()).p8")
        try Data(pem.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let outcome = try await send(Self.content + Self.key + ["--key", file.path])
        #expect(outcome.status == 64 && outcome.words.contains(sentence), "\(outcome.words)")
        for line in pem.split(separator: "\n") { #expect(!outcome.words.contains(line)) }
    }
}
