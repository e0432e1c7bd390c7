import Foundation
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct FieldInputTests {
    private static let address = "postgres://u:hunter2@127.0.0.1:1/d"
    private static let key = "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----"

    @Test(arguments: [
        ("DATABASE_URL", #""\(address)""#, "DATABASE_URL is not valid. Its value is in quotation marks."),
        ("DATABASE_URL", "jdbc:postgresql://h/d?password=hunter2", "the connection string begins with jdbc:"),
        ("DATABASE_URL", address + "?schema=public", #"has the parameter "schema""#),
        ("DATABASE_URL", address + "?sslmode=no-verify", "has the unknown sslmode no-verify"),
        ("DATABASE_URL", "postgres://u:hunter2@h:abc/d", "has a port that is not a number"),
        ("DATABASE_URL", address + "?target_session_attrs=write", "invalid target_session_attrs value"),
        ("PUSHREG_PORT", "tcp://10.96.12.7:8080", "for a Service named pushreg."),
        ("PUSHREG_ADMIN_PORT", "tcp://10.96.12.7:8080", "for a Service named pushreg-admin."),
        ("PUSHREG_PORT", #""8080""#, "PUSHREG_PORT is not valid. Its value is in quotation"),
        ("PUSHREG_HOST", "'::1'", "PUSHREG_HOST is not valid. Its value is in quotation marks."),
        ("PUSHREG_PORT", "5434  # host port", "PUSHREG_PORT is not valid. Its value contains a comment."),
        ("PUSHREG_HOST", "# the address", "PUSHREG_HOST is not valid. Its value contains a comment."),
        ("DATABASE_URL", address + "&sslmode=prefer", "has parameters in the database's name"),
        ("PUSHREG_TLS_KEY", key, "PUSHREG_TLS_KEY is not valid. It is the content of a file."),
        ("PUSHREG_HOST", "[::1]", "--host must be an address or host name without"),
        ("PUSHREG_HOST", "localhost:8080", "--host must be an address or host name without"),
        ("PUSHREG_HOST", "http://0.0.0.0", "--host must be an address or host name without"),
        ("PORT", "http", "PORT must be an integer from 0 to 65535."),
        ("PORT", "$PORT", "PORT is not valid. It refers to another variable"),
        ("DATABASE_URL", "${{Postgres.DATABASE_URL}}", "DATABASE_URL is not valid. It refers to another variable"),
        ("PUSHREG_HOST", "%HOST%", "PUSHREG_HOST is not valid. It refers to another variable"),
        ("PGSSLMODE", "no-verify", "The connection string or PGSSLMODE: invalid sslmode value"),
    ])
    func `A value for another program is refused with its cause`(_ name: String, _ value: String, _ words: String)
        async throws
    {
        let environment = ["DATABASE_URL": Self.address].merging([name: value]) { $1 }
        // With 64, systemd does not restart the service.
        let outcome = try await Program.run(["serve"], environment: environment, gives: 64, words)
        #expect(!outcome.words.contains("hunter2"))
    }

    @Test(arguments: [
        (["PORT": "5000"], #""port","value":5000,"from":"environment""#),
        (["PORT": "5000", "PUSHREG_PORT": "5001"], #""port","value":5001,"from":"environment""#),
        (["PUSHREG_PORT": " 5002\n"], #""port","value":5002,"from":"environment""#),
        (["DATABASE_URL": address + "\n"], #""dbname=d host=127.0.0.1 password=*** port=1 user=u""#),
    ])
    func `PORT is read, and white space is ignored`(_ environment: [String: String], _ row: String) async throws {
        let outcome = try await Program.run(["config", "print", "--json"], environment: environment, gives: 0)
        #expect(outcome.results.contains(row), "\(outcome.results)")
    }

    @Test func `A key in place of its path is not shown`() async throws {
        let environment = ["DATABASE_URL": Self.address, "PUSHREG_TLS_CERT": "c.pem", "PUSHREG_TLS_KEY": Self.key]
        for command in [["serve"], ["doctor"], ["config", "print"]] {
            let outcome = try await Program.run(command, environment: environment, gives: 64)
            #expect(!(outcome.words + outcome.results).contains("hunter2"), "\(outcome.words) \(outcome.results)")
        }
    }

    @Test(arguments: [
        ("203.0.113.9", "this machine has no such address"), ("no-such-host.invalid", "is unknown. Give --host"),
    ])
    func `The doctor finds an address at which the service cannot listen`(_ host: String, _ words: String) async throws
    {
        let doctor = try await Program.run(["doctor", "--json", "--database-url", Self.address, "--host", host])
        let finding = doctor.results.split(separator: "\n").first { $0.contains("listen-address") } ?? ""
        #expect(finding.contains(words), "\(doctor.results)")
    }

    @Test(.transfer, .enabled(if: geteuid() == 0, "only root can give files to another user"))
    func `Unreadable files are refused with the system's reason`() async throws {
        try file.write("{}")
        chmod(file.path, 0o600)
        chmod(file.directory, 0o755)
        for flags in [["--config", file.path], ["--tls-cert", "/etc/passwd", "--tls-key", file.path]] {
            let serve = [Program.executable.path, "serve", "--database-url", "host=/nowhere"] + flags
            let outcome = try await Program.run("/usr/bin/setpriv", ["--reuid=65534", "--clear-groups"] + serve)
            #expect(outcome.words.contains("\(file.path) cannot be read: Permission denied."), "\(outcome.words)")
        }
        let doctor = [
            "doctor", "--json", "--database-url", "host=/nowhere", "--tls-cert", file.directory, "--tls-key", file.path,
        ]
        #expect(try await Program.run(doctor).results.contains("\(file.directory) cannot be read: Is a directory."))
    }

    private static func line(_ number: Int, minutesAgo: Double = 5, more: String = "") -> String {
        let (token, time) = (PushToken.sample(number).hexadecimal, RFC3339.format(.minutesAgo(minutesAgo)))
        return #"{"activityId":"a\#(number)","token":"\#(token)","observedAt":"\#(time)"\#(more)}"#
    }

    @Test(.transfer) func `A byte order mark loses no record`() async throws {
        try file.write("\u{FEFF}" + Self.line(1) + "\r\n" + Self.line(2))
        let outcome = try await file.load(into: database)
        #expect(outcome.results == #"{"taken":2,"refused":{},"faulty":0}"# + "\n", "\(outcome.words)")
    }

    private static let formats: [(bytes: [UInt8], words: String)] = [
        ([0x1F, 0x8B, 0x08, 0x00], "compressed by gzip"), ([0x28, 0xB5, 0x2F, 0xFD, 0x01], "compressed by zstd"),
        ([0x50, 0x4B, 0x03, 0x04], "a ZIP archive"), ([0xFF, 0xFE, 0x7B, 0x00], "text in UTF-16"),
        ([0xFE, 0xFF, 0x00, 0x7B], "text in UTF-16"), ([0x7B, 0x00, 0x22, 0x00], "text in UTF-16"),
        (Array("[\n{}]".utf8), "one JSON array"), (Array("{\n  \"a\": 1\n}".utf8), "one record over several lines"),
        (Array("{}\r{}\r{}\r".utf8), "end with carriage returns"),
    ]

    @Test(.transfer) func `A file in another format is reported once`() async throws {
        for (bytes, words) in Self.formats {
            try Data(bytes).write(to: URL(fileURLWithPath: file.path))
            let outcome = try await file.load(into: database, gives: 64, words)
            #expect(outcome.results == "")
            #expect(outcome.words.split(separator: "\n").count == 1, "\(outcome.words)")
        }
    }

    @Test(.transfer) func `Repeated faults are reported ten times and then counted`() async throws {
        let wrong = Self.line(2).replacing(#/"token":"[^"]*"/#, with: #""token":"xyz""#)
        let all = [Self.line(1)] + (1...813).map { "no JSON \($0)" } + [wrong, Self.line(3)]
        try file.write(all.joined(separator: "\n"))
        let outcome = try await file.load(into: database, gives: 1)
        #expect(outcome.results == #"{"taken":2,"refused":{},"faulty":814}"# + "\n")
        let lines = outcome.words.split(separator: "\n")
        #expect(lines.count { $0.contains("It is not JSON: ") } == 10)
        #expect(lines.contains("803 more lines: It is not JSON"))
        #expect(lines.contains { $0.hasPrefix("line 815: \"token\"") })
    }

    @Test(.transfer) func `A fault names its member`() async throws {
        let old = #"{"activityId":"a2","token":"3230","observedAt":"1970-01-01T00:00:00Z"}"#
        try file.write([Self.line(1, more: #","aliases":{"userId":77}"#), old].joined(separator: "\n"))
        let outcome = try await file.load(into: database, gives: 1)
        #expect(outcome.words.contains(#"line 1: A member of "aliases" must be a string."#), "\(outcome.words)")
        #expect(outcome.words.contains("line 2: clock-skew: observedAt "), "\(outcome.words)")
    }

    @Test(.transfer) func `An indented export of another environment is refused`() async throws {
        let header = #"  {"export":{"version":1,"app":"com.example.food","environment":"production"}}"#
        try file.write([header, Self.line(1)].joined(separator: "\n"))
        try await file.load(into: database, gives: 64)
        #expect(try await database.registry.activity(.sample("a1"), in: database.scope()) == nil)
    }

    /// Local times marked as UTC.
    @Test(.transfer) func `A line that expired by its own times ends no running activity`() async throws {
        let scope = try await database.scope()
        try await database.registry.registerSample("a1", token: 1, minutesAgo: 1, in: scope)
        try file.write(Self.line(1, minutesAgo: 481))
        let outcome = try await file.load(into: database)
        #expect(outcome.results == #"{"taken":0,"refused":{"activity-expired":1},"faulty":0}"# + "\n")
        #expect(try await database.registry.activity(.sample("a1"), in: scope)?.token == .sample(1))
    }

    @Test(.transfer) func `An output of - is standard output`() async throws {
        let outcome = try await Program.run(["export"] + TransferFile.scope + ["--output", "-"] + database.flags)
        #expect(outcome.status == 0 && outcome.results.hasSuffix(#"{"end":true,"count":0}"# + "\n"), "\(outcome.words)")
        #expect(!FileManager.default.fileExists(atPath: "-"))
    }
}

@Suite(.timeLimit(.minutes(15))) struct CompletionTests {
    @Test(arguments: [(["audit", "st"], "stale"), (["serve", "--tls-c"], "--tls-cert")])
    func `Bash completes commands and flags`(_ words: [String], _ completed: String) async throws {
        let script = """
            source <("$1" --generate-completion-script bash)
            COMP_WORDS=(pushreg \(words.joined(separator: " "))) COMP_CWORD=\(words.count)
            COMP_LINE="${COMP_WORDS[*]}" COMP_POINT=${#COMP_LINE}
            COMP_POINT=${#COMP_LINE}
            _pushreg pushreg "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            echo "${COMPREPLY[*]}"
            """
        let outcome = try await Program.run("/bin/bash", ["-c", script, "bash", Program.executable.path])
        #expect(outcome.results == completed + "\n", "\(outcome.words)")
    }
}
