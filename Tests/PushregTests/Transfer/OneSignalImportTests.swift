import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import pushreg

/// `pushreg import --from onesignal-csv` takes in the device tokens that OneSignal knows.
@Suite(.timeLimit(.minutes(15))) struct OneSignalImportTests {
    /// An app, its scope, and a file of some rows.
    private static func made(_ text: String) async throws -> (TestDatabase, Scope, OneSignalFile) {
        let database = try await TestDatabase.make()
        return (database, try await database.scope(), try OneSignalFile(text))
    }

    private static let recently = OneSignalFile.seconds(minutesAgo: 60)

    // MARK: What is taken

    @Test("A device's token is found by its user, as of its last activity")
    func tokenIsFoundByItsUser() async throws {
        let rows = [
            OneSignalFile.row(1, user: "u-1", lastActive: Self.recently),
            OneSignalFile.row(2, user: "u-1", lastActive: "2026-03-01 12:00:00", invalid: "false"),
            OneSignalFile.row(
                3,
                user: #""u,""3""""#,
                token: OneSignalFile.token(3).uppercased(),
                lastActive: Self.recently
            ),
        ]
        let (database, scope, file) = try await Self.made(OneSignalFile.text(rows))
        defer { file.remove() }
        let outcome = try await file.load(into: database)
        #expect(outcome.status == 0, "\(outcome.words)")
        #expect(outcome.results == #"{"taken":3,"refused":{},"faulty":0,"leftOut":{}}"# + "\n")
        let found = try await OneSignalFile.tokens("u-1", database, scope)
        #expect(Set(found.map(\.token)) == [.sample(1), .sample(2)])
        #expect(found.first { $0.token == .sample(2) }?.observedAt == RFC3339.parse("2026-03-01T12:00:00Z"))
        #expect(try await OneSignalFile.tokens(#"u,"3""#, database, scope).map(\.token) == [.sample(3)])
        // Once more, it changes nothing and leaves no event.
        let events = try await database.count("SELECT count(*) FROM events")
        #expect(try await file.load(into: database).results.contains(#""taken":3"#))
        #expect(try await database.count("SELECT count(*) FROM events") == events)
    }

    @Test("Order of columns, byte order mark and CRLF do not matter") func formDoesNotMatter() async throws {
        let text = """
            \u{FEFF}external_user_id,more,invalid_identifier,last_active,device_type,identifier,id\r
            u-1,"a, ""b""\r\nc",f,\(Self.recently),0,\(OneSignalFile.token(1)),id-1\r
            \r
            u-2,,f,\(Self.recently),0,\(OneSignalFile.token(2)),id-2\r

            """
        let (database, scope, file) = try await Self.made(text)
        defer { file.remove() }
        #expect(try await file.load(into: database).results.contains(#""taken":2,"refused":{},"faulty":0"#))
        #expect(try await OneSignalFile.tokens("u-2", database, scope).map(\.token) == [.sample(2)])
    }

    @Test("What the registry has no use for is counted with its reason") func uselessIsCounted() async throws {
        let rows = [
            OneSignalFile.row(1, user: "u-1", lastActive: Self.recently),
            OneSignalFile.row(2, user: "u-2", lastActive: Self.recently, type: "1"),
            OneSignalFile.row(3, user: "u-3", token: "a@example.com", lastActive: Self.recently, type: "11"),
            OneSignalFile.row(4, user: "u-4", lastActive: Self.recently, invalid: "t"),
            OneSignalFile.row(5, user: "u-5", token: "", lastActive: Self.recently),
            OneSignalFile.row(6, user: "", lastActive: Self.recently),
        ]
        let (database, scope, file) = try await Self.made(OneSignalFile.text(rows))
        defer { file.remove() }
        let outcome = try await file.load(into: database)
        #expect(outcome.status == 0)
        let leftOut = #"{"other-device":2,"invalid":1,"no-token":1,"no-user":1}"#
        #expect(outcome.results == #"{"taken":1,"refused":{},"faulty":0,"leftOut":\#(leftOut)}"# + "\n")
        #expect(outcome.words.contains("Left out: 2 of other devices than iOS's, 1 invalid, 1 without a token"))
        for user in 2...5 { #expect(try await OneSignalFile.tokens("u-\(user)", database, scope).isEmpty) }
        #expect(try await database.count("SELECT count(*) FROM installations") == 1)
    }

    @Test("Without a write it counts the same") func dryRunCounts() async throws {
        let rows = [
            OneSignalFile.row(1, user: "u-1", lastActive: Self.recently),
            OneSignalFile.row(2, user: "u-2", lastActive: Self.recently, type: "1"),
            OneSignalFile.row(3, user: "u-3", token: "xyz", lastActive: Self.recently),
        ]
        let (database, _, file) = try await Self.made(OneSignalFile.text(rows))
        defer { file.remove() }
        let outcome = try await file.load(into: database, ["--dry-run"])
        #expect(outcome.status == 1 && outcome.words.contains("Read 2 records, and wrote nothing: 1 could be taken"))
        #expect(outcome.results == #"{"taken":1,"refused":{},"faulty":1,"leftOut":{"other-device":1}}"# + "\n")
        #expect(try await database.count("SELECT count(*) FROM installations") == 0)
        #expect(!FileManager.default.fileExists(atPath: file.file.progress))
    }

    // MARK: What is not

    private static let secret = "00112233445566778899aabbccddeeff"

    @Test("A row that cannot be read is named by its line, without what it holds") func faultsAreNamed() async throws {
        let rows = [
            OneSignalFile.row(1, user: "u-1", lastActive: Self.recently),
            OneSignalFile.row(2, user: "u-2", token: Self.secret + "x", lastActive: Self.recently),
            OneSignalFile.row(3, user: "u-3", token: Self.secret, lastActive: "yesterday"),
            OneSignalFile.row(4, user: "u-4", token: Self.secret, lastActive: "1756800000000"),
            OneSignalFile.row(5, user: "u-5", token: Self.secret, lastActive: Self.recently, invalid: "maybe"),
            OneSignalFile.row(
                6,
                user: String(repeating: "u", count: 257),
                token: Self.secret,
                lastActive: Self.recently
            ),
            "id-7,\(Self.secret),0",
            OneSignalFile.row(8, user: "u-8", token: Self.secret, lastActive: "2999-01-01 00:00:00"),
            "id-9,\(Self.secret)\"",
            OneSignalFile.row(10, user: "u-10", lastActive: Self.recently),
        ]
        let (database, scope, file) = try await Self.made(OneSignalFile.text(rows))
        defer { file.remove() }
        let outcome = try await file.load(into: database)
        #expect(outcome.status == 1)
        let reasons = [
            "line 4: identifier must be a push token in hex", "line 6: last_active must be seconds since 1970",
            "line 8: last_active must be", "line 10: invalid_identifier must be f", "line 12: external_user_id must be",
            "line 14: It has 3 fields, and the first line has 18", "line 15: clock-skew",
            "line 17: It has a quote where",
        ]
        for reason in reasons { #expect(outcome.words.contains(reason), "\(reason)\n\(outcome.words)") }
        #expect(outcome.words.contains("It goes on to line 5."))
        #expect(outcome.results.contains(#""taken":2,"refused":{},"faulty":8"#), "\(outcome.results)")
        #expect(!(outcome.words + outcome.results).contains(Self.secret))
        #expect(try await OneSignalFile.tokens("u-10", database, scope).map(\.token) == [.sample(10)])
    }

    @Test(
        "What is no such export is refused before anything is written",
        arguments: [
            ("", "The file is empty"),
            ("id,identifier\n1,2\n", "no column device_type, last_active, invalid_identifier, external_user_id"),
            ("id;identifier;device_type\n", "names no column id,"),
            (OneSignalFile.columns.joined(separator: ",") + ",id\n", "the column id more than once"),
            ("\u{1F}\u{8B}", "gunzip"),
        ]
    )
    func otherFilesAreRefused(_ text: String, _ sentence: String) async throws {
        let (database, _, file) = try await Self.made("")
        defer { file.remove() }
        // Bytes, not characters: those of gzip are no UTF-8.
        let bytes = text.unicodeScalars.allSatisfy { $0.value < 256 } ? text.unicodeScalars.map { UInt8($0.value) } : []
        try Data(bytes).write(to: URL(fileURLWithPath: file.file.path))
        let outcome = try await file.load(into: database)
        #expect(outcome.status == 64 && outcome.words.contains(sentence), "\(outcome.words)")
    }

    // MARK: The app itself

    /// The app's own registration of a device token, as a client's.
    private static func register(
        _ token: Int,
        user: String,
        minutesAgo: Double,
        _ database: TestDatabase,
        _ scope: Scope
    ) async throws {
        let phone = InstallationHash.sample(77)
        let profile = InstallationProfile(
            aliases: try AliasSet([.sample("userId", user)]),
            observedAt: .minutesAgo(minutesAgo)
        )
        _ = try await database.registry.put(profile, for: phone, in: scope, by: "app", claimant: .subject("s", phone))
        let registration = TokenRegistration(token: .sample(token), observedAt: .minutesAgo(minutesAgo))
        _ = try await database.registry.register(registration, in: .only(.device), of: phone, in: scope, by: "app")
    }

    @Test("The app's own registration takes the token over, and nothing is doubled") func appTakesOver() async throws {
        let text = OneSignalFile.text([OneSignalFile.row(1, user: "u-1", lastActive: Self.recently)])
        let (database, scope, file) = try await Self.made(text)
        defer { file.remove() }
        #expect(try await file.load(into: database).status == 0)
        let before = try await OneSignalFile.tokens("u-1", database, scope)
        #expect(before.map(\.installation) == [OneSignalFile.hash(1, in: scope)])
        try await Self.register(1, user: "u-1", minutesAgo: 5, database, scope)
        let after = try await OneSignalFile.tokens("u-1", database, scope)
        #expect(after.map(\.token) == [.sample(1)] && after.map(\.installation) == [.sample(77)])
        // The same export again, and a later one, as long as the app was there after it.
        let again = try await file.load(into: database)
        #expect(again.status == 0 && again.results.contains(#""refused":{"superseded":1}"#), "\(again.words)")
        #expect(try await OneSignalFile.tokens("u-1", database, scope).map(\.installation) == [.sample(77)])
    }

    @Test("An export from before the app's registration changes nothing") func olderExportChangesNothing() async throws
    {
        let text = OneSignalFile.text([OneSignalFile.row(1, user: "u-other", lastActive: Self.recently)])
        let (database, scope, file) = try await Self.made(text)
        defer { file.remove() }
        try await Self.register(1, user: "u-1", minutesAgo: 5, database, scope)
        let outcome = try await file.load(into: database)
        #expect(outcome.status == 0 && outcome.results.contains(#""taken":0,"refused":{"superseded":1}"#))
        #expect(try await OneSignalFile.tokens("u-1", database, scope).map(\.installation) == [.sample(77)])
        // Nobody is found by the name that it said either.
        #expect(try await database.count("SELECT count(*) FROM installation_aliases WHERE value = 'u-other'") == 0)
    }

    @Test("An erased user does not come back") func erasedUserDoesNotComeBack() async throws {
        let text = OneSignalFile.text([OneSignalFile.row(1, user: "u-1", lastActive: Self.recently)])
        let (database, scope, file) = try await Self.made(text)
        defer { file.remove() }
        _ = try await database.registry.erase(.alias(.sample("userId", "u-1")), in: scope, by: "test")
        for _ in 0..<2 {
            let outcome = try await file.load(into: database)
            #expect(outcome.status == 0 && outcome.results.contains(#""taken":0,"refused":{""#), "\(outcome.results)")
            #expect(try await database.count("SELECT count(*) FROM installation_tokens WHERE token IS NOT NULL") == 0)
        }
    }

    @Test("Nobody can name the installation, even who knows OneSignal's id") func nobodyCanNameIt() throws {
        let app = try BundleID("com.example.food")
        let hash = InstallationHash(of: "id-1", knownTo: "onesignal", in: app)
        for id in ["id-1", "onesignal-id-1", "onesignalid-1"] {
            #expect(try InstallationHash(of: InstallationID(id), in: app) != hash)
        }
        #expect(throws: (any Error).self) { try InstallationID("onesignal\0id-1") }
    }
}
