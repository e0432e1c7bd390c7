import Foundation

struct DatabaseDirectory: Sendable {
    let root: String
    let user: ServerUser
    var data: String { Self.data(in: root) }
    static func data(in root: String) -> String { "\(root)/data" }

    /// A new data directory is created with this name, and renamed when it is complete.
    var unfinishedData: String { "\(root)/data.new" }
    var pidFile: String { "\(data)/postmaster.pid" }
    var log: String { "\(root)/postgres.log" }
    var lockFile: String { "\(root)/users.lock" }
    var transitionFile: String { "\(root)/transition.lock" }

    init(preparing directory: String) throws(EmbeddedPostgresError) {
        root = URL(fileURLWithPath: directory).standardizedFileURL.path
        try Self.make(root)
        let owner = geteuid() == 0 ? ServerUser.owner(of: Self.data(in: root)) : nil
        if let owner { user = owner } else { user = try .preferred() }
        try checkContent()
        try user.receive(Descriptor.open(root, O_RDONLY | O_DIRECTORY), root)
        try checkAccess()
    }

    /// Creates the path and its parents. Parents stay open to all users, because Postgres may run as its own user.
    private static func make(_ path: String, mode: mode_t = 0o700) throws(EmbeddedPostgresError) {
        guard mkdir(path, mode) != 0, errno != EEXIST else { return }
        guard errno == ENOENT, path != "/" else { throw .system("make", path) }
        try make(URL(fileURLWithPath: path).deletingLastPathComponent().path, mode: 0o755)
        guard mkdir(path, mode) == 0 || errno == EEXIST else { throw .system("make", path) }
    }

    /// The major version of Postgres that made the data; nil for a new directory.
    var version: Int? {
        let text = try? String(contentsOfFile: "\(data)/PG_VERSION", encoding: .utf8)
        return text.flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
    }

    private func checkContent() throws(EmbeddedPostgresError) {
        let content = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        let known = ["data", "data.new", "postgres.log", "users.lock", "transition.lock", "socket"]
        let strangers = content.filter { !known.contains($0) }
        guard strangers.isEmpty || version != nil else {
            let example = strangers[0]
            throw EmbeddedPostgresError("\(root) contains other files, such as \(example). Choose an empty directory.")
        }
    }

    /// Root can enter every directory, but the user that runs Postgres may not.
    private func checkAccess() throws(EmbeddedPostgresError) {
        guard user.isSomeoneElse else { return }
        guard try Command(user.command(["/usr/bin/test", "-w", root])).run().succeeded else {
            throw EmbeddedPostgresError(
                """
                Postgres runs as the user \(user.name), who cannot reach \(root). Choose a directory whose parents are \
                open to all, such as one under /var/lib, or run as another user than root.
                """
            )
        }
    }

    /// Accessible to its owner only. In /tmp if the path in `root` would be too long.
    func makeSocketDirectory() throws(EmbeddedPostgresError) -> String {
        let inside = "\(root)/socket"
        // The limit of `sockaddr_un` in bytes.
        let isShort = "\(inside)/.s.PGSQL.\(ServerSettings.port)".utf8.count <= 107
        let directory = isShort ? inside : "/tmp/pushreg-\(user.id)-\(Self.hash(root))"
        if mkdir(directory, 0o700) != 0, errno != EEXIST { throw .system("make", directory) }
        // Another user may have created the directory in /tmp first. Links and directories of other users are rejected.
        let opened = try Descriptor.open(directory, O_RDONLY | O_DIRECTORY)
        var status = stat()
        guard fstat(opened.number, &status) == 0, status.st_uid == user.id || status.st_uid == geteuid() else {
            throw EmbeddedPostgresError("\(directory) belongs to another user. Remove it.")
        }
        try user.receive(opened, directory)
        guard fchmod(opened.number, 0o700) == 0 else { throw .system("protect", directory) }
        return directory
    }

    /// FNV-1a in hex: a stable name for a path.
    private static func hash(_ path: String) -> String {
        String(path.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }, radix: 16)
    }
}
