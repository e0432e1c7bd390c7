import EmbeddedPostgres
import Foundation
import TestSupport

/// An environment for the documentation's commands, with its own Postgres, directories and ports.
///
/// Runs the commands unchanged in one shell, except for addresses that belong to the whole machine.
struct CommandSession {
    let directory: String
    private let postgres: EmbeddedPostgres
    private let ports: (service: Int, admin: Int)

    /// Prepares the directories, and stubs of programs that tests must not run.
    static func make() async throws -> CommandSession {
        let directory = "/tmp/pushreg-commands-\(getpid())-\(UInt32.random(in: 0 ..< .max))"
        // Open to all, because Postgres may run as another user.
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory)
        let postgres = try await EmbeddedPostgres.open(directory + "/postgres", settings: [:], logger: .silent)
        let ports = (service: try FreePort.take(), admin: try FreePort.take())
        let session = CommandSession(directory: directory, postgres: postgres, ports: ports)
        try session.furnish()
        return session
    }

    func remove() async {
        await postgres.close()
        try? FileManager.default.removeItem(atPath: directory)
    }

    private var socketDirectory: String {
        postgres.connectionString.firstMatch(of: /host='([^']+)'/).map { String($0.1) } ?? ""
    }

    private func furnish() throws {
        let files = FileManager.default
        for place in ["bin", "home", "project", "run", "etc/systemd/system", "usr/local/bin"] {
            let path = "\(directory)/\(place)"
            try files.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        let project = DocumentedCommand.project.path
        for name in ["deploy", "Package.resolved"] {
            try files.createSymbolicLink(atPath: path("project/\(name)"), withDestinationPath: "\(project)/\(name)")
        }
        try files.createSymbolicLink(atPath: path("bin/pushreg"), withDestinationPath: Program.executable.path)
        try program(
            "swift",
            """
            case "$*" in
                --version) echo 'Swift version 6.3' ;;
                *--show-bin-path*) echo '\(Program.executable.deletingLastPathComponent().path)' ;;
                build*) ;;
                *) exit 64 ;;
            esac
            """
        )
        try program("sudo", "[ \"$1\" = -u ] && shift 2\nexec \"$@\"")
        try "def push(token, topic, push_type, payload):\n    return 200, None, None\n"
            .write(toFile: path("project/apns.py"), atomically: true, encoding: .utf8)
    }

    func path(_ place: String) -> String { "\(directory)/\(place)" }

    private func program(_ name: String, _ text: String) throws {
        try "#!/bin/sh\n\(text)\n".write(toFile: path("bin/\(name)"), atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path("bin/\(name)"))
    }

    func here(_ text: String) -> String {
        let places = [
            (":8080", ":\(ports.service)"), ("9090", "\(ports.admin)"), ("/etc/", path("etc/")),
            ("/usr/local/", path("usr/local/")), ("@localhost/pushreg", "@/pushreg?host=\(socketDirectory)"),
            ("--embedded /var/lib/pushreg", "--embedded \(path("demo"))"),
            ("deploy/run", "deploy/run --port \(ports.service) --dir \(path("demo"))"),
        ]
        return places.reduce(text) { $0.replacing($1.0, with: $1.1) }
    }

    /// Makes the shell find the session's Postgres like the system's own.
    private var environment: [String: String] {
        [
            "PATH": "\(path("bin")):\(path("usr/local/bin")):/usr/bin:/bin", "HOME": path("home"),
            "PGHOST": socketDirectory, "PGUSER": "registry", "PGDATABASE": "registry",
            "DATABASE_URL": postgres.connectionString, "PUSHREG_PORT": "\(ports.service)",
        ]
    }
}

extension CommandSession {
    struct Outcome {
        let status: Int?
        let results: String
        let words: String
    }

    func run(_ commands: [String], after preparation: String = "") async throws -> [Outcome] {
        let steps = commands.enumerated().map { index, text in step(index, here(text)) }
        let script = (["cd '\(path("project"))'", Self.functions, preparation] + steps)
            .joined(separator: "\n")
        try script.write(toFile: path("run/script"), atomically: true, encoding: .utf8)
        _ = try await Program.run("/bin/bash", [path("run/script"), path("run"), path("demo.demo-keys")], environment)
        return commands.indices.map { index in
            let file = { (kind: String) in
                (try? String(contentsOfFile: path("run/\(index).\(kind)"), encoding: .utf8)) ?? ""
            }
            let status = Int(file("status").trimmingCharacters(in: .whitespacesAndNewlines))
            return Outcome(status: status, results: file("out"), words: file("err"))
        }
    }

    private func step(_ index: Int, _ text: String) -> String {
        let isService = text.hasPrefix("deploy/run") || text.hasPrefix("pushreg serve")
        let command = isService ? "startService \"$session_files/\(index).err\" \(text.split(separator: "#")[0])" : text
        return """
            exec >"$session_files/\(index).out" 2>"$session_files/\(index).err"
            \(command)
            echo $? >"$session_files/\(index).status"
            """
    }

    /// Starts a service as in a second terminal, after stopping the previous one, and waits until it accepts requests.
    /// The service of `deploy/run` prints keys, which users copy.
    private static let functions = #"""
        set -o pipefail
        session_files=$1 session_keys=$2 session_service=''
        trap stopService EXIT
        stopService() {
            [[ -n $session_service ]] || return 0
            kill -TERM "$session_service"
            wait "$session_service"
            local status=$?
            session_service=''
            return $status
        }
        startService() {
            local log=$1
            shift
            stopService || return
            "$@" &
            session_service=$!
            grep -m1 -q '"addresses"' < <(tail -n +1 -f --pid=$session_service "$log" 2>/dev/null) || return
            [[ $1 != deploy/run ]] || source "$session_keys"
        }
        """#
}
