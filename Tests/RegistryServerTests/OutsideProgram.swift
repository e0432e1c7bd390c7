import Foundation

/// Runs a system program that calls the service.
enum OutsideProgram {
    struct Failure: Error {
        let command: [String]
    }

    /// Runs a program and returns its standard output, whatever its status.
    ///
    /// Uses files because other programs started meanwhile would inherit pipes and hold them open.
    static func output(of command: [String], input: String = "") async throws -> String {
        let name = "/tmp/pushreg-program-\(UUID().uuidString)"
        let (given, written) = (name + ".in", name + ".out")
        defer { for file in [given, written] { unlink(file) } }
        try input.write(toFile: given, atomically: false, encoding: .utf8)
        let id = try start(command, from: given, to: written)
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            Thread.detachNewThread {
                var status: Int32 = 0
                while waitpid(id, &status, 0) < 0, errno == EINTR {}
                continuation.resume()
            }
        }
        return String(decoding: try Data(contentsOf: URL(fileURLWithPath: written)), as: UTF8.self)
    }

    private static func start(_ command: [String], from given: String, to written: String) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, given, O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, written, O_WRONLY | O_CREAT, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        var arguments = command.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var id: pid_t = 0
        guard posix_spawn(&id, command[0], &actions, nil, &arguments, environ) == 0 else {
            throw Failure(command: command)
        }
        return id
    }
}

/// Calls `openssl s_client`, for options that no other client offers.
enum OpenSSLClient {
    /// Sends a text over TLS with HTTP/1.1, and returns everything until the service closes the connection.
    static func exchange(_ text: String, port: Int) async throws -> String {
        try await run(["-quiet", "-alpn", "http/1.1", "-connect", "127.0.0.1:\(port)"], input: text)
    }

    /// The cipher suite of a TLS 1.2 handshake that offers only `suite`; nil if it fails.
    static func handshake(_ suite: String, port: Int) async throws -> String? {
        let text = try await run(["-tls1_2", "-cipher", suite + ":@SECLEVEL=0", "-connect", "127.0.0.1:\(port)"])
        return text.firstMatch(of: /Cipher is ([A-Z0-9-]+)/).map { String($0.1) }
    }

    private static func run(_ arguments: [String], input: String = "") async throws -> String {
        try await OutsideProgram.output(of: ["/usr/bin/openssl", "s_client"] + arguments, input: input)
    }
}
