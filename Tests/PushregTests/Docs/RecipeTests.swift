import Foundation
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// Runs the migration guide's commands unchanged: senders find the tokens of the source tables.
@Suite(
    .transfer,
    .timeLimit(.minutes(10)),
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3"), "there is no /usr/bin/python3")
)
struct RecipeTests {
    private static let document = "Sources/WebAssets/Documentation.docc/ComingFromElsewhere.md"

    @Test(arguments: ["UTC", "America/New_York"])
    func `Senders find the tokens of an app's own table`(_ timeZone: String) async throws {
        let scope = try await database.scope("com.example.food", .production)
        let commands = try await DocumentedCommand.all(of: Self.document).map(\.text)
        #expect(commands.count == 11)
        let script = ["set -eu", "cd \(file.directory)"] + RecipeTables.commands + commands
        let outcome = try await Program.run(
            "/bin/bash",
            ["-c", script.joined(separator: "\n")],
            [
                "PATH": "\(Program.executable.deletingLastPathComponent().path):/usr/bin:/bin", "PGTZ": timeZone,
                "OWN_DATABASE": database.connectionString, "DATABASE_URL": database.connectionString,
                "PUSHREG_UNSAFE_DURABILITY": "true",
            ]
        )
        #expect(outcome.status == 0, "\(outcome.results)\(outcome.words)")
        try await Self.checkActivities(database, scope)
        try await Self.checkDevices(database, scope)
    }

    private static func checkActivities(_ database: TestDatabase, _ scope: Scope) async throws {
        func tokens(_ kind: String, _ value: String) async throws -> [ResolvedActivity] {
            try await database.registry.activities(under: .sample(kind, value), limit: 9, in: scope)
        }
        let first = try await tokens("liveactivityId", RecipeTables.order)
        #expect(first.map { $0.token.hexadecimal } == ["aa01"])
        #expect(try await tokens("liveactivityId", "order-2").map { $0.token.hexadecimal } == ["aa02"])
        #expect(try await tokens("liveactivityId", "order-3").isEmpty)
        let user = try await tokens("userId", RecipeTables.user)
        #expect(user.map { $0.token.hexadecimal } == ["bb01"])
        #expect(try await tokens("liveactivityId", "match-7") == user)
        let age = Date().timeIntervalSince(try #require(user.first).startedAt)
        #expect((3600..<4500).contains(age))
    }

    private static func checkDevices(_ database: TestDatabase, _ scope: Scope) async throws {
        for (user, tokens) in [(RecipeTables.user, ["cc01", "cc02"]), ("u-csv", ["dd01"]), ("u-sns", ["ee01"])] {
            let found = try await database.registry.tokens(under: .sample("userId", user), .device, limit: 9, in: scope)
            #expect(found.map { $0.token.hexadecimal }.sorted() == tokens)
        }
    }
}

/// The tables, files and programs for the recipes of the migration guide. The names have characters that every format must escape.
enum RecipeTables {
    static let order = #"a "b" \ 'c' é,"#
    static let user = #"u\"1",\n"#
    static let commands = [tables, export, scripts, aws]

    private static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "''") + "'" }

    private static let tables = """
        psql -X -q -v ON_ERROR_STOP=1 "$OWN_DATABASE" <<'SQL'
        CREATE TABLE live_tokens (activity_id text, order_id text, token text, updated_at timestamptz);
        INSERT INTO live_tokens VALUES
            ('a-1', \(quoted(order)), 'aa01', now() - interval '1 hour'),
            ('a-2', 'order-2', 'AA02', now() - interval '2 hours'),
            ('a-over', 'order-3', 'aa03', now() - interval '9 hours');
        CREATE TABLE user_activities (
            user_id text, activity text, token bytea, started_at timestamp, updated_at timestamp
        );
        INSERT INTO user_activities
        SELECT \(quoted(user)), 'match-7', '\\xbb01', at - interval '1 hour', at
        FROM (SELECT now() AT TIME ZONE 'UTC' - interval '1 minute' AS at) AS t;
        CREATE TABLE devices (device_id text, user_id text, device_token text, seen_at timestamptz);
        INSERT INTO devices VALUES
            ('d-1', \(quoted(user)), 'cc01', now() - interval '1 day'),
            ('d-2', \(quoted(user)), 'cc02', now() - interval '90 days');
        SQL
        """

    private static let scripts = """
        cp '\(DocumentedCommand.project.path)'/Sources/WebAssets/Documentation.docc/Examples/*-to-ndjson.py .
        """

    private static let aws = """
        aws() {
            cat <<'JSON'
        {"Endpoints": [
            {"EndpointArn": "arn:aws:sns:eu-west-1:111122223333:endpoint/APNS/food/e-1",
                "Attributes": {"Enabled": "true", "Token": "ee01", "CustomUserData": "u-sns"}},
            {"EndpointArn": "arn:aws:sns:eu-west-1:111122223333:endpoint/APNS/food/e-2",
                "Attributes": {"Enabled": "false", "Token": "ee02", "CustomUserData": "u-sns"}}
        ]}
        JSON
        }
        """

    private static let export = """
        gzip -c >players.csv.gz <<'CSV'
        id,identifier,device_type,tags,last_active,invalid_identifier,external_user_id
        p-1,dd01,0,"{""a"": ""b""}",1760000000,f,u-csv
        p-2,dd02,1,,1760000000,f,u-csv
        p-3,dd03,0,,1760000000,f,
        CSV
        """
}
