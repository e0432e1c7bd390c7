import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

/// The one table of who may change whose record, and who its callers and owners are.
enum OwnerMatrix {
    /// `y`, or `n` for not-yours. The columns are ``owners``.
    ///
    /// u1 and u2 are users, x and y installations; a caller is who it is, at the installation that it names.
    private static let table = """
                    u1  u2  x   y   u1x u2x u2y none bare
        u1          y   n   n   n   y   n   n   n    y
        u1-x        y   n   y   n   y   n   n   n    y
        u1-y        y   n   n   y   y   n   n   n    y
        u2-x        n   y   y   n   n   y   y   n    y
        u2-y        n   y   n   y   n   y   y   n    y
        client-x    n   n   y   n   y   y   n   n    y
        client-y    n   n   n   y   n   n   y   n    y
        sender      y   y   y   y   y   y   y   y    y
        sender-x    y   y   y   y   y   y   y   y    y
        admin       y   y   y   y   y   y   y   y    y
        root        y   y   y   y   y   y   y   y    y
        """

    private static let cells: [String: [String: Bool]] = {
        let lines = table.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        return Dictionary(
            uniqueKeysWithValues: lines.dropFirst().map { line in
                (line[0], Dictionary(uniqueKeysWithValues: zip(lines[0], line.dropFirst().map { $0 == "y" })))
            }
        )
    }()

    /// Whether a caller, at an installation, may change the record of an owner.
    static func allows(_ caller: String, _ owner: String) -> Bool { cells[caller]?[owner] == true }

    /// Those who made a record; `bare` is a tombstone that a backend left, `none` what a backend made.
    static let owners = ["u1", "u2", "x", "y", "u1x", "u2x", "u2y", "none", "bare"]

    /// The owner's subject and the letter of its installation.
    static func names(of owner: String) -> (subject: String?, installation: String?) {
        guard owner != "none", owner != "bare" else { return (nil, nil) }
        let subject = owner.hasPrefix("u") ? String(owner.prefix(2)) : nil
        let letter = owner.last.map(String.init).flatMap { ["x", "y"].contains($0) ? $0 : nil }
        return (subject, letter)
    }

    /// By what right an owner makes its record.
    ///
    /// - Parameter suffix: of its installation's id.
    static func claimant(_ owner: String, _ suffix: String = "") -> Claimant {
        let (subject, letter) = names(of: owner)
        let hash = letter.map { installation($0 + suffix) }
        if let subject { return .subject(UTF8Text(subject), hash) }
        return hash.map { .installation($0) } ?? .any
    }

    static func installation(_ name: String) -> InstallationHash {
        InstallationHash(of: try! InstallationID(name), in: try! BundleID("com.example.food"))
    }

    struct Caller: Sendable {
        /// As in the table's first column, or one who may not change anything.
        let name: String
        /// Nil without credentials.
        let role: Role?
        let fields: HTTPFields

        /// The letter of the installation that it names.
        var installation: String? { fields[.installationID] }
        var isUser: Bool { name.hasPrefix("u") }
        /// Its name without the installation.
        var base: String { String(name.prefix { $0 != "-" }) }

        /// Its header fields, with an installation of its own for each cell.
        func fields(_ suffix: String) -> HTTPFields {
            var fields = fields
            fields[.installationID] = installation.map { $0 + suffix }
            return fields
        }
    }

    static func callers(_ server: LiveServer) async throws -> [Caller] {
        let admin = try await server.key(.admin)
        let settings: JSONValue = ["jwt": .object(TestIssuer.honest.settings)]
        #expect(try await server.call(.put, "/v1/apps/com.example.food", settings, admin.fields).status == 200)
        func caller(_ name: String, _ role: Role?, _ fields: HTTPFields) -> Caller {
            var fields = fields
            fields[.installationID] = name.contains("-") ? String(name.suffix(1)) : nil
            return Caller(name: name, role: role, fields: fields)
        }
        let users = ["u1", "u1-x", "u1-y", "u2-x", "u2-y"].map { name in
            let token = TestIssuer.honest.token(claims: ["sub": .string(String(name.prefix(2)))], at: Date())
            return caller(name, .client, [.authorization: "Bearer \(token)"])
        }
        let (client, sender) = (try await server.key(.client).fields, try await server.key(.sender).fields)
        return users + [
            caller("nobody", nil, [:]), caller("client", .client, client), caller("client-x", .client, client),
            caller("client-y", .client, client), caller("sender", .sender, sender),
            caller("sender-x", .sender, sender), caller("auditor", .auditor, try await server.key(.auditor).fields),
            caller("admin", .admin, admin.fields), caller("root", .root, try await server.key(.root).fields),
        ]
    }
}

extension OwnerMatrix {
    /// A call about a record.
    enum Change: String, CaseIterable {
        case newToken = "a new token"
        case sameToken = "the same token"
        case oldToken = "an older token"
        case end
        case fullState = "a full state"
        case read
        case release
        case named = "a token by alias"
        case namedEnd = "an end by alias"
        case startToken = "a start token"
        case startDeletion = "a start token's deletion"
        case startRelease = "a start token's release"
        case deviceToken = "a device token"
        case deviceDeletion = "a device token's deletion"
        case profile = "an installation's aliases"
        case logOut = "a log-out"

        var roles: Set<Role> {
            switch self {
            case .read: [.sender, .admin, .root]
            case .release, .startRelease: [.admin, .root]
            default: [.client, .sender, .admin, .root]
            }
        }

        /// The record is an activity, one known by its alias, or an installation with its tokens.
        enum Record { case activity, named, installation }

        var record: Record {
            switch self {
            case .newToken, .sameToken, .oldToken, .end, .fullState, .read, .release: .activity
            case .named, .namedEnd: .named
            default: .installation
            }
        }

        /// Those who can have such a record: an installation is always that of somebody's phone.
        var owners: [String] {
            record == .installation ? ["x", "y", "u1x", "u2x", "u2y", "bare"] : OwnerMatrix.owners
        }
    }

    /// The outcome that the caller must be told: a refusal, `422` for two installations in one request, or `in`.
    static func expectation(_ caller: Caller, _ change: Change, of owner: String, in app: String) -> String {
        guard let role = caller.role else { return "unauthenticated" }
        if app != "food" {
            if caller.isUser { return "unauthenticated" }
            if role != .root || app == "none" { return "unknown-app" }
        }
        guard change.roles.contains(role) else { return "forbidden" }
        switch change.record {
        case .activity: return ofActivity(caller, change, owner)
        case .named: return ofNamed(caller, owner)
        case .installation: return ofInstallation(caller, change, owner)
        }
    }

    private static func ofActivity(_ caller: Caller, _ change: Change, _ owner: String) -> String {
        guard caller.role == .client else { return "in" }
        guard caller.name == "client" else { return allows(caller.name, owner) ? "in" : "not-yours" }
        // A full state names its installation in the path.
        return change != .fullState ? "installation-required" : owner == "bare" ? "in" : "not-yours"
    }

    /// Under an alias everyone has activities of their own: by their installation, else by their subject.
    private static func ofNamed(_ caller: Caller, _ owner: String) -> String {
        guard caller.role == .client else { return "in" }
        guard caller.name != "client" else { return "installation-required" }
        let (subject, installation) = names(of: owner)
        let isSame =
            caller.installation == nil
            ? installation == nil && subject == caller.base
            : caller.installation == installation
        return !isSame || allows(caller.name, owner) ? "in" : "not-yours"
    }

    /// The path names the installation, and so its header must.
    private static func ofInstallation(_ caller: Caller, _ change: Change, _ owner: String) -> String {
        let installation = names(of: owner).installation ?? "x"
        guard caller.installation.map({ $0 == installation }) ?? true else { return "422" }
        // A caller who registers an installation takes it over.
        guard caller.role == .client, change != .profile else { return "in" }
        return allows("\(caller.base)-\(installation)", owner) ? "in" : "not-yours"
    }
}
