import Foundation

/// The system user that runs Postgres, which refuses to run as root.
struct ServerUser: Sendable, Equatable {
    let id: uid_t
    let group: gid_t
    let name: String

    /// The owner of a new database: for root, `postgres`, or `nobody` if that user is missing; otherwise the current
    /// user.
    static func preferred() throws(EmbeddedPostgresError) -> ServerUser {
        guard geteuid() == 0 else { return current }
        guard let user = named("postgres") ?? named("nobody"), user.id != 0 else {
            throw EmbeddedPostgresError(
                "Postgres cannot run as root, and no user postgres or nobody exists. Create one: useradd --system postgres"
            )
        }
        return user
    }

    static var current: ServerUser {
        withID(geteuid()) ?? ServerUser(id: geteuid(), group: getegid(), name: "\(geteuid())")
    }

    static func named(_ name: String) -> ServerUser? { look { getpwnam_r(name, $0, $1, $2, $3) } }

    static func withID(_ id: uid_t) -> ServerUser? { look { getpwuid_r(id, $0, $1, $2, $3) } }

    var isSomeoneElse: Bool { id != geteuid() }

    /// A command that root can run to execute `arguments` as this user, in one process.
    func command(_ arguments: [String]) -> [String] {
        guard isSomeoneElse else { return arguments }
        let identity = ["--reuid=\(id)", "--regid=\(group)", "--clear-groups"]
        return ["/usr/bin/setpriv"] + identity + arguments
    }

    func receive(_ file: Descriptor, _ path: String) throws(EmbeddedPostgresError) {
        guard isSomeoneElse else { return }
        guard fchown(file.number, id, group) == 0 else { throw .system("give the user \(name)", path) }
    }

    private typealias Lookup = (
        UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int,
        UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>
    ) -> CInt

    private static func look(_ lookup: Lookup) -> ServerUser? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var texts = [CChar](repeating: 0, count: 16_384)
        return texts.withUnsafeMutableBufferPointer { texts in
            guard lookup(&entry, texts.baseAddress!, texts.count, &found) == 0, found != nil else { return nil }
            return ServerUser(id: entry.pw_uid, group: entry.pw_gid, name: String(cString: entry.pw_name))
        }
    }
}
