import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct CommandTests {
    @Test(arguments: [
        [], ["serve"], ["migrate"], ["migrate", "status"], ["apps"], ["apps", "create"], ["apps", "list"],
        ["apps", "show"], ["apps", "delete"], ["keys", "create"], ["keys", "list"], ["keys", "revoke"], ["resolve"],
        ["config", "print"], ["demo"], ["audit"], ["audit", "stale"], ["audit", "events"], ["audit", "explain"],
        ["purge"], ["erase"], ["export"], ["import"], ["doctor"],
    ])
    func `Every command has help`(_ command: [String]) async throws {
        #expect(try await Program.run(command + ["--help"], gives: 0).results.contains("USAGE"))
    }

    @Test(arguments: [
        (["serve"], 64, "No database is given"), (["serve", "--port", "http"], 64, "port"),
        (["serve", "--database-url", "host=/nowhere", "--host", "0.0.0.0", "--insecure-no-auth"], 64, "loopback"),
        (["serve", "--database-url", "host=/nowhere"], 69, "not available"),
        (
            ["serve", "--database-url", "host=/nowhere", "--log-level", "loud"], 64,
            "--log-level must be one of trace, debug,"
        ),
        (["apps", "list", "--database-url", "host=/nowhere password=hunter2"], 69, "not available"),
        (["apps", "list", "--database-url", "host=/nowhere bogus=hunter2"], 64, "connection string"),
        (["demo", "--url", "nonsense"], 64, "--url"),
        (["apps", "create", "no/bundle", "--database-url", "host=/nowhere"], 64, "bundle id"),
        (["apps", "delete", "com.example.food", "--database-url", "host=/nowhere"], 64, "--yes"),
        (["resolve", "com.example.food", "mars", "a", "b", "--database-url", "host=/nowhere"], 64, "sandbox"),
        (["resolve", "com.example.food", "sandbox", "4", "b", "--database-url", "host=/n"], 64, "kind must match"),
        (["resolve", "com.example.food", "sandbox", "a", "", "--database-url", "host=/no"], 64, "must not be empty"),
        (["serve", "--embedded", ""], 64, "--embedded must not be empty"),
        (["serve", "--database-url", "host=/nowhere", "--host", ""], 64, "--host must not be empty"),
        (["config", "print", "--embedded", "/a", "--database-url", "host=/nowhere"], 64, "not both"),
        (["demo", "--url", "http://"], 64, "--url"), (["demo", "--url", "http://127.0.0.1:70000"], 64, "--url"),
        (["keys", "create", "--role", "king", "--app", "a"], 64, "auditor"),
        (["keys", "create", "--role", "sender"], 64, "--app"),
        (["keys", "create", "--role", "root", "--app", "com.example.food"], 64, "Only root keys have no app"),
        (["keys", "create", "--role", "sender", "--app", "a", "--expires-in", "soon"], 64, "--expires-in"),
        (["keys", "revoke", "prc_x"], 64, "the id of an API key"),
        (["purge", "com.example.food", "sandbox"], 64, "--dry-run"),
        (["migrate", "--dry-run", "--distribute"], 64, "Leave out --distribute."),
        (["purge", "com.example.food", "sandbox", "--dry-run", "--reason", "x"], 64, "quarantined"),
        (["erase", "com.example.food", "sandbox", "--yes"], 64, "Give one of --alias"),
        (["erase", "com.example.food", "sandbox", "--alias", "a:b"], 64, "--yes"),
        (["audit", "stale", "com.example.food", "sandbox", "--unconfirmed-for", "long"], 64, "--unconfirmed-for"),
        (["audit", "explain", "com.example.food", "mars", "a", "b"], 64, "sandbox"),
        (["import", "com.example.food", "mars", "-"], 64, "sandbox"),
        (["doctor"], 64, "No database is given"),
        (["doctor", "--database-url", "host=/nowhere bogus=hunter2"], 64, "connection string"),
        (["doctor", "--database-url", #""postgresql://u:hunter2@db/r?sslmode=require""#], 64, "quotation marks"),
        (["migrate", "status", "--embedded", "/nowhere/at-all"], 69, "/nowhere/at-all has no database"),
        (["apps", "create", "com.example.food", "--name", ""], 64, "--name must"),
        (["apps", "create", "com.example.food", "--activity-lifetime", "P30D"], 64, "-lifetime must be from"),
        (["apps", "create", "com.example.food", "--event-retention", "PT0.01S"], 64, "-retention must be from"),
        (["no-such-command"], 64, "no-such-command"),
        (["serve", "--database-url", "host=/n", "--tls-cert", "/no.pem"], 64, "--tls-cert and --tls-key go together"),
        (["serve", "--database-url", "host=/n", "--tls-key", "/no.pem"], 64, "--tls-cert and --tls-key go together"),
        (
            ["serve", "--database-url", "host=/n", "--tls-cert", "/no.pem", "--tls-key", "/no.key"], 64,
            "pushreg: /no.pem cannot be read: No such file or directory.\n"
        ),
    ])
    func `Usage errors have a message and an exit code`(_ arguments: [String], _ status: Int32, _ sentence: String)
        async throws
    {
        let outcome = try await Program.run(arguments, gives: status, sentence)
        #expect(outcome.results == "")
        #expect(!outcome.words.contains("hunter2"))
    }

    @Test(arguments: [
        #""postgresql://u:hunter2@db/r?sslmode=require""#, "' postgresql://u:hunter2@db/r?sslmode=require",
        "POSTGRES://u:hunter2@db/r?x=y", "postgresql+asyncpg://u:hunter2@db/r?x=y",
        "postgresql://u:a@hunter2@db/r", "postgresql://u:hunter2/a@db/r", "postgresql://u:80/hunter2@db/r",
    ])
    func `An invalid connection string is never printed`(_ text: String) async throws {
        let outcome = try await Program.run(["config", "print", "--json"], environment: ["DATABASE_URL": text])
        #expect(outcome.results.contains(#""value":"***""#), "\(outcome.results)")
        #expect(!outcome.results.contains("hunter2"))
    }

    /// The file has a valid port, which must not replace an invalid variable.
    @Test(arguments: [
        ("PUSHREG_PORT", "http", "PUSHREG_PORT must be an integer from 0 to 65535."),
        ("PUSHREG_PORT", "65536", "PUSHREG_PORT must be an integer from 0 to 65535."),
        ("PUSHREG_MIGRATE", "perhaps", "PUSHREG_MIGRATE must be true or false."),
        ("PUSHREG_REQUEST_TIMEOUT", "5s", "PUSHREG_REQUEST_TIMEOUT must be an ISO 8601 duration such as"),
        ("PUSHREG_TRUSTED_PROXIES", "::1,proxy", "PUSHREG_TRUSTED_PROXIES must list addresses or ranges"),
        ("PUSHREG_LOG_LEVEL", "loud", "PUSHREG_LOG_LEVEL must be one of trace, debug,"),
    ])
    func `An invalid setting is refused`(_ variable: String, _ value: String, _ sentence: String) async throws {
        try await Self.withFile(#"{"port": 8080}"#) { path in
            let environment = ["PUSHREG_CONFIG": path, variable: value]
            try await Program.run(["config", "print"], environment: environment, gives: 64, "pushreg: \(sentence)")
            let isOverridden = variable == "PUSHREG_PORT"
            let flags = ["config", "print", "--port", "1"]
            try await Program.run(flags, environment: environment, gives: isOverridden ? 0 : 64)
        }
    }

    private static let signIn = [
        "PUSHREG_OIDC_ISSUER": "https://login.example.com", "PUSHREG_OIDC_CLIENT_ID": "console",
        "PUSHREG_OIDC_CLIENT_SECRET": "hunter2-0123456789abcdef",
        "PUSHREG_OIDC_ROLES": "admin:com.example.food=CN=Push; auditor:com.example.food=all: of us;",
        "PUSHREG_PUBLIC_URL": "https://push.example.com/",
    ]

    @Test(arguments: [
        ("PUSHREG_OIDC_ISSUER", "login.example.com", "--oidc-issuer must be an https URL"),
        ("PUSHREG_OIDC_ISSUER", "http://login.example.com", "--oidc-issuer must be an https URL"),
        ("PUSHREG_OIDC_ISSUER", "https://login.example.com/?a=b", "--oidc-issuer must be an https URL"),
        ("PUSHREG_OIDC_CLIENT_SECRET", "hunter2", "--oidc-client-secret must have at least 20 characters."),
        ("PUSHREG_OIDC_ROLES", "root:com.example.food=all", "--oidc-roles must list 1 to 200 rules such as admin:"),
        ("PUSHREG_OIDC_ROLES", "admin:com.example.food", "--oidc-roles must list"),
        ("PUSHREG_OIDC_ROLES", "admin:com/example=all", "--oidc-roles must list"),
        ("PUSHREG_OIDC_ROLES", ";", "--oidc-roles must"),
        ("PUSHREG_PUBLIC_URL", "https://push.example.com/console", "--public-url must be an origin with TLS"),
        ("PUSHREG_PUBLIC_URL", "http://push.example.com", "--public-url must be an origin with TLS"),
        ("PUSHREG_PUBLIC_URL", "", "go together: give all of them, or none."),
        ("PUSHREG_OIDC_CLIENT_SECRET", "", "go together: give all of them, or none."),
        ("PUSHREG_OIDC_ISSUER", "http://127.0.0.1:5556/dex", ""), ("PUSHREG_PUBLIC_URL", "http://localhost:8080", ""),
        ("PUSHREG_OIDC_CLAIM", "roles", ""),
    ])
    func `Incomplete sign-in settings are refused`(_ variable: String, _ value: String, _ sentence: String) async throws
    {
        let environment = Self.signIn.merging([variable: value]) { $1 }
        let print = ["config", "print", "--json"]
        let outcome = try await Program.run(print, environment: environment, gives: sentence.isEmpty ? 0 : 64, sentence)
        #expect(!outcome.results.contains("hunter2") && !outcome.words.contains("hunter2"))
        let isMasked = outcome.results.contains(#""setting":"oidcClientSecret","value":"***""#)
        #expect(isMasked || value.isEmpty, "\(outcome.results)")
    }

    @Test func `A public URL alone does not enable the sign-in`() async throws {
        let environment = ["PUSHREG_PUBLIC_URL": "https://push.example.com"]
        try await Program.run(["config", "print"], environment: environment, gives: 0)
    }

    @Test(arguments: [
        (#"{"port": "80"}"#, #""port" in PATH must be an integer from 0 to 65535."#),
        (#"{"port": 80.5}"#, #""port" in PATH must be an integer from 0 to 65535."#),
        (#"{"migrate": 1}"#, #""migrate" in PATH must be true or false."#),
        (#"{"host": 1}"#, #""host" in PATH must be a string."#),
        (#"{"port": -1}"#, #""port" in PATH must be an integer from 0 to 65535."#),
        (#"{"prot": 80}"#, #"The config file PATH has the unknown key "prot". Known keys: embedded, databaseUrl"#),
        ("{\n\"port\": }", "The config file PATH is not JSON: line 2: "), ("[]", "PATH must be one JSON object."),
    ])
    func `An invalid config file is refused by its path`(_ text: String, _ sentence: String) async throws {
        try await Self.withFile(text) { path in
            let words = sentence.replacing("PATH", with: path)
            try await Program.run(["config", "print", "--config", path], gives: 64, words)
        }
    }

    @Test func `A config file comes through a pipe`() async throws {
        let script = #"printf '{"port": 4711}' | "$0" config print --json --config -"#
        #expect(try await Program.run("/bin/sh", ["-c", script, Program.executable.path]).results.contains("4711"))
    }

    private static func withFile<Value>(
        _ text: String,
        _ body: (_ path: String) async throws -> Value
    ) async throws -> Value {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pushreg-\(UUID()).json")
        try Data(text.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try await body(file.path)
    }

    @Test func `A flag overrides a variable, a variable the file, and the file the default`() async throws {
        let file = #"{"port": 1, "host": "127.0.0.2", "logLevel": "debug", "keyRate": null}"#
        let outcome = try await Self.withFile(file) { path in
            let environment = [
                "PUSHREG_CONFIG": path, "PUSHREG_PORT": "2", "PUSHREG_HOST": "127.0.0.3", "PUSHREG_ADDRESS_RATE": "",
                "DATABASE_URL": "postgresql://user:hunter2@db/registry",
            ]
            let print = ["config", "print", "--json", "--port", "3"]
            return try await Program.run(print, environment: environment, gives: 0)
        }
        let lines = outcome.results.split(separator: "\n")
        for line in [
            #"{"setting":"keyRate","value":5000,"from":"default"}"#, #"{"setting":"port","value":3,"from":"flag"}"#,
            #"{"setting":"addressRate","value":500,"from":"default"}"#,
            #"{"setting":"host","value":"127.0.0.3","from":"environment"}"#,
            #"{"setting":"logLevel","value":"debug","from":"file"}"#,
            #"{"setting":"maxConnections","value":16,"from":"default"}"#,
            #"{"setting":"migrate","value":false,"from":"default"}"#,
        ] { #expect(lines.contains(line[...]), "\(line)") }
        #expect(!outcome.results.contains("hunter2"))
        #expect(outcome.results.contains("dbname=registry host=db password=*** user=user"))
    }

    private static let masked =
        #""databaseUrl","value":"dbname=registry host=db password=*** user=user","from":"environment""#

    @Test(arguments: [
        ([], [masked + "}"], false), (["--database-url", "host=b"], [#""value":"host=b","from":"flag"}"#], false),
        (["--embedded", "/a"], [#""value":"/a","from":"flag"}"#, masked + #","beatenBy":"embedded"}"#], true),
    ])
    func `The command config names the database`(_ flags: [String], _ rows: [String], _ isOverridden: Bool)
        async throws
    {
        let environment = ["DATABASE_URL": "postgresql://user:hunter2@db/registry"]
        let outcome = try await Program.run(["config", "print", "--json"] + flags, environment: environment)
        for row in rows { #expect(outcome.results.contains(row + "\n"), "\(outcome.results)") }
        #expect(outcome.results.contains("beatenBy") == isOverridden)
        #expect(!outcome.results.contains("hunter2"))
        let table = try await Program.run(["config", "print"] + flags, environment: environment)
        #expect(table.results.contains("overridden by --embedded") == isOverridden)
        #expect(!table.results.contains("hunter2"))
    }

    @Test func `Migrating, creating an app and resolving work in sequence`() async throws {
        let database = try await TestDatabase.make()
        func run(_ command: String..., gives status: Int32 = 0) async throws -> String {
            try await Program.run(command + database.flags + ["--json"], gives: status).results
        }
        let status = "{\"version\":\(SchemaMigrator.currentVersion),\"pending\":[]}\n"
        #expect(try await run("migrate", "status") == status)
        #expect(try await run("migrate", "--dry-run") == "")
        _ = try await run("apps", "create", "com.example.food", "--name", "Food")
        #expect(try await run("apps", "create", "com.example.food").contains(#""name":"Food""#))
        #expect(try await run("apps", "list").contains(#""bundleId":"com.example.food""#))
        let scope = try await database.scope()
        let registration = ActivityRegistration.sample(token: .sample(7), aliases: [.sample("orderId", "42")])
        _ = try await database.registry.register(registration, as: .sample("a"), in: scope, by: "test")
        let found = try await run("resolve", "com.example.food", "sandbox", "orderId", "42")
        #expect(found.contains(PushToken.sample(7).hexadecimal))
        try await Program.run(["apps", "delete", "com.example.food", "--yes"] + database.flags, gives: 0)
        _ = try await run("apps", "show", "com.example.food", gives: 1)
    }

    @Test func `Keys are created, listed and revoked`() async throws {
        let (database, _) = try await TestDatabase.withScope()
        func run(_ command: String..., gives status: Int32 = 0) async throws -> String {
            try await Program.run(["keys"] + command + database.flags, gives: status).results
        }
        let food = "com.example.food"
        let made = try await run(
            "create",
            "--app",
            food,
            "--role",
            "sender",
            "--expires-in",
            "P90D",
            "--name",
            "Push",
            "--json"
        )
        let json = try JSONParser.parse(made)
        let (id, text) = (try #require(json["id"]?.string), try #require(json["key"]?.string))
        #expect(json["role"] == "sender")
        #expect(json["app"] == "com.example.food")
        #expect(APIKey(Secret(text))?.id.rawValue == id)
        #expect(try await JSONParser.parse(run("create", "--role", "root", "--json"))["app"] == .null)
        let listed = try await run("list", "--app", food, "--json")
        #expect(listed.contains(id) && !listed.contains(text.suffix(30)))
        #expect(listed.split(separator: "\n").count == 1)
        _ = try await run("revoke", id)
        let table = try await run("list")
        #expect(table.contains("revoked") && table.contains("root"), "\(table)")
        _ = try await run("revoke", "prs_000000000000", gives: 1)
        _ = try await run("list", "--app", "com.example.none", gives: 1)
    }

    @Test func `Audit, purge and erase report their findings and effects`() async throws {
        let (database, scope) = try await TestDatabase.withScope()
        let registration = ActivityRegistration.sample(token: .sample(7), aliases: [.sample("orderId", "42")])
        _ = try await database.registry.register(registration, as: .sample("a-1"), in: scope, by: "test")
        try await database.execute("UPDATE activities SET confirmed_at = now() - interval '3 hours'")
        let place = ["com.example.food", "sandbox"]
        func run(_ command: [String], _ more: [String] = []) async throws -> (results: String, words: String) {
            let outcome = try await Program.run(command + place + more + database.flags, gives: 0)
            #expect(!(outcome.results + outcome.words).contains(PushToken.sample(7).hexadecimal))
            return (outcome.results, outcome.words)
        }
        #expect(try await run(["audit", "stale"]).results.contains("No client registered or refreshed it for PT3H"))
        #expect(try await run(["audit", "stale"], ["--json"]).results.contains(#""reason":"unconfirmed""#))
        #expect(try await run(["audit", "explain"], ["orderId", "42"]).results.contains("handed-out"))
        #expect(try await run(["purge"], ["--dry-run"]).words.contains("1 would be purged"))
        #expect(try await run(["purge"], ["--yes", "--json"]).results == "{\"dryRun\":false,\"purged\":1}\n")
        let explained = try await run(["audit", "explain"], ["orderId", "42", "--json"]).results
        #expect(explained.contains(#""reason":"purged""#))
        let events = try await run(["audit", "events"], ["--alias", "orderId:42"]).results
        #expect(events.contains("purged"))
        #expect(events.contains("registered"))
        #expect(events.contains("command-line"))
        #expect(try await run(["erase"], ["--alias", "orderId:42", "--yes"]).words.contains("Erased 1 activity and"))
        #expect(try await run(["audit", "explain"], ["orderId", "42"]).words.contains("was erased"))
        #expect(try await run(["audit", "stale"], ["--limit", "5"]).words.contains("0 stale tokens"))
    }

    @Test func `Sessions use generic plans`() async throws {
        let database = try await TestDatabase.make()
        try await database.simple(
            """
            CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN new.name := current_setting('plan_cache_mode'); RETURN new; END
            $$;
            CREATE TRIGGER telling BEFORE INSERT ON apps FOR EACH ROW EXECUTE FUNCTION tell()
            """
        )
        try await Program.run(["apps", "create", "com.example.food"] + database.flags, gives: 0)
        #expect(try await database.texts("SELECT name FROM apps") == ["force_generic_plan"])
    }

    @Test func `An outdated schema is refused`() async throws {
        let database = try await TestDatabase.make()
        try await database.execute("DELETE FROM schema_migrations")
        try await Program.run(["serve", "--port", "0"] + database.flags, gives: 69, "pushreg migrate")
    }

    @Test(.enabled(if: geteuid() == 0))
    func `Root without CAP_SYS_PTRACE creates and finds the embedded database`() async throws {
        let directory = "/tmp/pushreg-container-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        for command in [["apps", "create", "com.example.food"], ["apps", "list"]] {
            let limits = ["--inh-caps=-sys_ptrace", "--bounding-set=-sys_ptrace", Program.executable.path]
            let outcome = try await Program.run("/usr/bin/setpriv", limits + command + ["--embedded", directory])
            #expect(outcome.status == 0, "\(outcome.words)")
        }
    }

    @Test func `The embedded database is shared with the running service`() async throws {
        let directory = "/tmp/pushreg-command-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let service = try await ServiceProcess.start(database: ["--embedded", directory])
        try await Program.run(["apps", "create", "com.example.food", "--embedded", directory], gives: 0)
        #expect(try await service.register("a", number: 1).status == 201)
        #expect(await service.stop() == 0)
        let listed = try await Program.run(["apps", "list", "--json", "--embedded", directory])
        #expect(listed.results.contains("com.example.food"))
    }

    @Test func `A port in use gets a clear message`() async throws {
        let database = try await TestDatabase.make()
        let service = try await ServiceProcess.start(on: database)
        let second = try await Program.run(["serve", "--port", "\(service.port)"] + database.flags, gives: 69)
        let place = "127.0.0.1:\(service.port)"
        #expect(second.words == "pushreg: Cannot listen on \(place): another program uses it. Choose another --port.\n")
        #expect(await service.stop() == 0)
    }
}
