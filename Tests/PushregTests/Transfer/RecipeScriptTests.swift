import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules
import RegistryStore
import TestSupport
import Testing

@Suite(
    .transfer,
    .timeLimit(.minutes(15)),
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3"), "there is no /usr/bin/python3")
)
struct RecipeScriptTests {
    private static let secret = "00112233445566778899aabbccddeeff"

    private static func convert(
        _ input: Data,
        _ script: String = "onesignal-to-ndjson.py",
        _ arguments: [String] = []
    ) async throws -> Program.Outcome {
        let examples = DocumentedCommand.project.path + "/Sources/WebAssets/Documentation.docc/Examples/"
        let source = file.directory + "/source"
        try input.write(to: URL(fileURLWithPath: source))
        let command = #"exec /usr/bin/python3 "${@:2}" <"$0" >"$1""#
        return try await Program.run("/bin/bash", ["-c", command, source, file.path, examples + script] + arguments)
    }

    private static func convert(_ rows: [String]) async throws -> Program.Outcome {
        try await convert(Data(OneSignalExport.text(rows).utf8))
    }

    private static func tokens(_ user: String) async throws -> [ResolvedToken] {
        try await database.registry.tokens(under: .sample("userId", user), .device, limit: 9, in: database.scope())
    }

    @Test func `Imported tokens of OneSignal are found by user`() async throws {
        let upper = OneSignalExport.token(3).uppercased()
        let outcome = try await Self.convert([
            OneSignalExport.row(1, user: "u-1"),
            OneSignalExport.row(2, user: "u-1", lastActive: "2026-03-01 12:00:00", invalid: "false"),
            OneSignalExport.row(3, user: #""u,""3""""#, token: upper, lastActive: "2026-03-01 12:00:00 UTC"),
            OneSignalExport.row(4, user: "u-1", type: "1"),
            OneSignalExport.row(5, user: "u-1", invalid: "t"),
            OneSignalExport.row(6, user: "u-1", token: ""),
            OneSignalExport.row(7, user: ""),
        ])
        #expect(outcome.status == 0, "\(outcome.words)")
        #expect(outcome.words.contains("Left out: 1 not of iOS."))
        #expect(outcome.words.contains("Left out: 3 invalid, or without a token or user."))
        let loaded = try await file.load(into: database)
        #expect(loaded.results == #"{"taken":6,"refused":{},"faulty":0}"# + "\n", "\(loaded.words)")
        let found = try await Self.tokens("u-1")
        #expect(Set(found.map(\.token)) == [.sample(1), .sample(2)])
        #expect(found.first { $0.token == .sample(2) }?.observedAt == RFC3339.parse("2026-03-01T12:00:00Z"))
        #expect(try await Self.tokens(#"u,"3""#).map(\.token) == [.sample(3)])
        #expect(try await database.count("SELECT count(*) FROM installations") == 3)
        let events = try await database.count("SELECT count(*) FROM events")
        #expect(try await file.load(into: database).results.contains(#""taken":6"#))
        #expect(try await database.count("SELECT count(*) FROM events") == events)
    }

    @Test(arguments: zip([",", ";", "\t"], ["\n", "\r\n", "\r"]))
    func `Delimiter, line ends, order of columns and byte order mark do not matter`(
        _ delimiter: String,
        _ end: String
    ) async throws {
        let lines = [
            ["external_user_id", "more", "invalid_identifier", "last_active", "device_type", "identifier", "id"],
            ["u-1", "\"a, \"\"b\"\";\(end)c\"", "f", OneSignalExport.recently, "0", OneSignalExport.token(1), "id-1"],
            [],
            ["u-2", "", "f", OneSignalExport.recently, "0", OneSignalExport.token(2), "id-2"],
        ]
        let text = "\u{FEFF}" + lines.map { $0.joined(separator: delimiter) + end }.joined()
        let outcome = try await Self.convert(Data(text.utf8))
        #expect(outcome.status == 0 && outcome.words.isEmpty, "\(outcome.words)")
        #expect(try await file.load(into: database).results.contains(#""taken":4,"refused":{},"faulty":0"#))
        for number in 1...2 { #expect(try await Self.tokens("u-\(number)").map(\.token) == [.sample(number)]) }
    }

    @Test func `A malformed row is named by its line, without its content, and skipped`() async throws {
        let outcome = try await Self.convert([
            OneSignalExport.row(1, user: "u-1"),
            OneSignalExport.row(2, user: "u-2", token: Self.secret + "x"),
            OneSignalExport.row(3, user: "u-3", token: Self.secret, lastActive: "yesterday"),
            OneSignalExport.row(4, user: "u-4", token: Self.secret, lastActive: "1756800000000"),
            OneSignalExport.row(5, user: "u-5", token: Self.secret, invalid: "maybe"),
            "id-6,\(Self.secret),0",
            "id-7,\"\(Self.secret)\"a",
            OneSignalExport.row(8, user: "u-8"),
        ])
        #expect(outcome.status == 1)
        let reasons = [
            "line 4: identifier must be", "line 6: last_active must be", "line 8: last_active must be",
            "line 10: invalid_identifier must be", "line 12: it has 3 fields, and the first line has 18", "line 13: ",
        ]
        for reason in reasons { #expect(outcome.words.contains(reason), "\(reason)\n\(outcome.words)") }
        #expect(outcome.words.split(separator: "\n").count == reasons.count, "\(outcome.words)")
        #expect(!(outcome.words + file.text).contains(Self.secret))
        #expect(try await file.load(into: database).results == #"{"taken":4,"refused":{},"faulty":0}"# + "\n")
        for number in [1, 8] { #expect(try await Self.tokens("u-\(number)").map(\.token) == [.sample(number)]) }
    }

    @Test(arguments: [
        ("", "external_user_id"), ("id,identifier\n1,2\n", "once: device_type, last_active, invalid_identifier"),
        (OneSignalExport.columns.joined(separator: ",") + ",id\n", "once: id."),
        ("\u{1F}\u{8B}", "external_user_id. The file is compressed, or in UTF-16."),
        ("\u{FF}\u{FE}i\0d\0", "external_user_id. The file is compressed, or in UTF-16."),
    ])
    func `A file in another format is refused`(_ text: String, _ sentence: String) async throws {
        // Bytes, because gzip is not UTF-8.
        let outcome = try await Self.convert(Data(text.unicodeScalars.map { UInt8($0.value) }))
        #expect(outcome.status == 1 && outcome.words.contains(sentence), "\(outcome.words)")
        #expect(file.text.isEmpty)
    }

    private static func endpoint(_ name: String, _ attributes: String) -> String {
        #"{"EndpointArn":"arn:aws:sns:eu-west-1:111122223333:endpoint/\#(name)","Attributes":{\#(attributes)}}"#
    }

    @Test func `Imported tokens of AWS SNS are found by user, and malformed endpoints are reported`() async throws {
        let pages = [
            [
                Self.endpoint("APNS_SANDBOX/food/1", #""Enabled":"true","Token":"EE01","CustomUserData":"u-1""#),
                Self.endpoint("APNS_SANDBOX/food/2", #""Enabled":"false","Token":"ee02","CustomUserData":"u-1""#),
                Self.endpoint("APNS_SANDBOX/food/3", #""Enabled":"true","Token":"ee03""#),
            ],
            [
                Self.endpoint("APNS_SANDBOX/food/4", #""Enabled":"true","Token":"ee04","CustomUserData":"u-\"4""#),
                Self.endpoint("APNS/food/5", #""Enabled":"true","Token":"\#(Self.secret)","CustomUserData":"u-1""#),
                Self.endpoint(
                    "APNS_SANDBOX/food/6",
                    #""Enabled":"true","Token":"\#(Self.secret)x","CustomUserData":"u""#
                ),
                Self.endpoint("APNS_SANDBOX/food/7", #""Enabled":true"#), "7",
            ],
        ]
        let text = pages.map { #"{"Endpoints": [\#($0.joined(separator: ", "))], "NextToken": "n"}"# + "\r\n" }.joined()
        let arguments = ["sandbox", "2026-03-01T00:00:00Z"]
        let outcome = try await Self.convert(Data(text.utf8), "sns-to-ndjson.py", arguments)
        #expect(outcome.status == 1)
        let words = [
            "endpoint 5: EndpointArn must be of the platform APNS_SANDBOX", "endpoint 6: Token must be",
            "endpoint 7: it must have", "endpoint 8: it must have", "Left out: 1 disabled.",
            "Left out: 1 without CustomUserData.",
        ]
        #expect(outcome.words.split(separator: "\n").count == words.count, "\(outcome.words)")
        for word in words { #expect(outcome.words.contains(word), "\(word)\n\(outcome.words)") }
        #expect(!(outcome.words + file.text).contains(Self.secret))
        let loaded = try await file.load(into: database)
        #expect(loaded.results == #"{"taken":4,"refused":{},"faulty":0}"# + "\n", "\(loaded.words)")
        for (user, token) in [("u-1", "ee01"), (#"u-"4"#, "ee04")] {
            let found = try await Self.tokens(user)
            #expect(found.map { $0.token.hexadecimal } == [token])
            #expect(found.first?.observedAt == RFC3339.parse("2026-03-01T00:00:00Z"))
        }
    }

    @Test(arguments: [
        ([], "{}"), (["test", "2026-03-01T00:00:00Z"], "{}"), (["sandbox", "2026-03-01T00:00:00Z"], "{"),
    ])
    func `Invalid arguments and texts are refused`(_ arguments: [String], _ text: String) async throws {
        let outcome = try await Self.convert(Data(text.utf8), "sns-to-ndjson.py", arguments)
        #expect(outcome.status == 1 && !outcome.words.contains("Traceback") && !outcome.words.isEmpty)
    }

    @Test func `The app's own registration takes over an imported token`() async throws {
        _ = try await Self.convert([OneSignalExport.row(1, user: "u-1")])
        try await file.load(into: database)
        #expect(try await Self.tokens("u-1").map(\.token) == [.sample(1)])
        let (scope, phone, time) = (try await database.scope(), InstallationHash.sample(77), Date.minutesAgo(5))
        let profile = InstallationProfile(aliases: try AliasSet([.sample("userId", "u-2")]), observedAt: time)
        _ = try await database.registry.put(profile, for: phone, in: scope, by: "app", claimant: .subject("s", phone))
        let registration = TokenRegistration(token: .sample(1), observedAt: time)
        _ = try await database.registry.register(registration, in: .only(.device), of: phone, in: scope, by: "app")
        for _ in 0..<2 {
            #expect(try await Self.tokens("u-2").map(\.installation) == [phone])
            #expect(try await Self.tokens("u-1").isEmpty)
            let again = try await file.load(into: database)
            #expect(again.results.contains(#""refused":{"superseded":1}"#), "\(again.words)")
        }
    }

    @Test func `An imported token is not found by the name of an erased user`() async throws {
        _ = try await Self.convert([OneSignalExport.row(1, user: "u-1")])
        _ = try await database.registry.erase(.alias(.sample("userId", "u-1")), in: database.scope(), by: "test")
        let outcome = try await file.load(into: database)
        #expect(outcome.results.contains(#""taken":1,"refused":{""#), "\(outcome.results)")
        #expect(try await Self.tokens("u-1").isEmpty)
        #expect(try await database.count("SELECT count(*) FROM installation_aliases") == 0)
    }
}

private enum OneSignalExport {
    /// OneSignal's columns in its order, including those that the migration needs.
    static let columns = [
        "id", "identifier", "session_count", "language", "timezone", "game_version", "device_os", "device_type",
        "device_model", "ad_id", "tags", "last_active", "playtime", "amount_spent", "created_at", "invalid_identifier",
        "badge_count", "external_user_id",
    ]

    /// A time in seconds.
    static let recently = String(Int(Date.minutesAgo(60).timeIntervalSince1970))

    /// A device's row on two lines. Its other columns have quotes, commas and a line break, as OneSignal's do.
    static func row(
        _ number: Int,
        user: String,
        token: String? = nil,
        lastActive: String = recently,
        type: String = "0",
        invalid: String = "f"
    ) -> String {
        let tags = #""{""plan"": ""pro"", ""note"": ""two\#nlines""}""#
        return [
            "id-\(number)", token ?? Self.token(number), "12", "en", "-25200", "3.2.0", "17.4", type, #""iPhone15,2""#,
            "", tags, lastActive, "0", "0", "1700000000", invalid, "0", user,
        ].joined(separator: ",")
    }

    static func token(_ number: Int) -> String { PushToken.sample(number).hexadecimal }

    static func text(_ rows: [String]) -> String {
        ([columns.joined(separator: ",")] + rows).joined(separator: "\n") + "\n"
    }
}
