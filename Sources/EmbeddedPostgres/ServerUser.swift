import Foundation

/// The system user that runs Postgres, which refuses to run as root.
struct ServerUser: Sendable, Equatable {
    let id: uid_t
    let group: gid_t
    let name: String

    /// The owner of a new database: for root, `postgres`, or `nobody` if that user is missing; otherwise the current
    /// user.
    static func preferred() throws(EmbeddedPostgresError) -> ServerUser {
        guard geteuid() == 0 else { return ServerUser(id: geteuid(), group: getegid(), name: "\(geteuid())") }
        guard let user = named("postgres") ?? named("nobody"), user.id != 0 else {
            throw EmbeddedPostgresError(
                "Postgres cannot run as root, and no user postgres or nobody exists. Create one: useradd --system postgres"
            )
        }
        return user
    }

    /// The owner of a file; nil for root.
    static func owner(of path: String) -> ServerUser? {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
            let id = attributes[.ownerAccountID] as? Int, id != 0, let group = attributes[.groupOwnerAccountID] as? Int
        else { return nil }
        let name = attributes[.ownerAccountName] as? String ?? "\(id)"
        return ServerUser(id: uid_t(id), group: gid_t(group), name: name)
    }

    private static func named(_ name: String) -> ServerUser? {
        var (entry, found) = (passwd(), UnsafeMutablePointer<passwd>?.none)
        var texts = [CChar](repeating: 0, count: 16_384)
        guard getpwnam_r(name, &entry, &texts, texts.count, &found) == 0, found != nil else { return nil }
        return ServerUser(id: entry.pw_uid, group: entry.pw_gid, name: name)
    }

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
}
