import Foundation

/// A child process. Foundation's `Process` also waits for every process that inherited its socket, such as a server.
struct Child {
    private let command: [String]
    private let id: pid_t

    /// - Parameter input: the descriptor for standard input; none if nil. The program has no output.
    init(_ command: [String], input: Int32? = nil) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        var arguments = command.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var id: pid_t = 0
        guard posix_spawn(&id, command[0], &actions, nil, &arguments, environ) == 0 else {
            throw Failure("\(command[0]) does not start")
        }
        (self.command, self.id) = (command, id)
    }

    func expectSuccess() throws {
        var status: Int32 = 0
        while waitpid(id, &status, 0) < 0 {
            guard errno == EINTR else { throw Failure("no child \(command[0])") }
        }
        guard status == 0 else { throw Failure("\(command) ended with \(status)") }
    }
}
