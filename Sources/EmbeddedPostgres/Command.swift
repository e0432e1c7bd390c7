import Foundation
import Synchronization

/// Runs a Postgres program to its end and blocks the thread meanwhile.
///
/// Foundation's `Process` would wait for the server that `pg_ctl` leaves behind, because the server inherits its pipes.
struct Command {
    struct Outcome {
        let succeeded: Bool
        let output: String
    }

    let arguments: [String]

    init(_ arguments: [String]) { self.arguments = arguments }

    /// - Parameter input: must fit into a pipe's buffer.
    func run(input: String = "") throws(EmbeddedPostgresError) -> Outcome {
        let source = try Descriptor.pipe()
        let sink = try Descriptor.pipe()
        let pid = try spawn(input: source.read, output: sink.write)
        _ = write(source.write.number, input, input.utf8.count)
        source.write.close()
        sink.write.close()
        let output = sink.read.readAll()
        return Outcome(succeeded: Self.exitCode(of: pid) == 0, output: output)
    }

    private func spawn(input: Descriptor, output: Descriptor) throws(EmbeddedPostgresError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input.number, 0)
        posix_spawn_file_actions_adddup2(&actions, output.number, 1)
        posix_spawn_file_actions_adddup2(&actions, output.number, 2)
        // Postgres must not inherit other descriptors. It would keep them open after this program has closed them.
        for number in Descriptor.allOpen where number > 2 { posix_spawn_file_actions_addclose(&actions, number) }
        // Ctrl-C signals the terminal's whole foreground group, but this program stops its children itself.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        posix_spawnattr_setpgroup(&attributes, 0)
        let argv = arguments.map { strdup($0) } + [nil]
        let environment = Self.environment.map { strdup($0) } + [nil]
        defer { for text in argv + environment { free(text) } }
        var pid: pid_t = 0
        let failure = Descriptor.inheritance.withLock { _ in
            posix_spawn(&pid, arguments[0], &actions, &attributes, argv, environment)
        }
        guard failure == 0 else { throw .system("run", arguments[0], failure) }
        return pid
    }

    private static func exitCode(of pid: pid_t) -> CInt {
        var status: CInt = 0
        while waitpid(pid, &status, 0) < 0 { guard errno == EINTR else { return -1 } }
        return status & 0x7f == 0 ? (status >> 8) & 0xff : -1
    }

    /// Minimal, because variables such as PGDATA and PGPORT change how the programs behave.
    private static var environment: [String] {
        let names: [String] = ["PATH", "LD_LIBRARY_PATH"]
        let inherited = names.compactMap { name in getenv(name).map { "\(name)=\(String(cString: $0))" } }
        return inherited + ["LC_ALL=C", "TZ=UTC"]
    }
}
