import Foundation

struct Installation: Sendable, Hashable {
    let directory: String
    let version: Int

    static let oldestVersion = 15

    func program(_ name: String) -> String { "\(directory)/\(name)" }
}

package struct InstallationSearch: Sendable {
    let directories: [String]

    package static var standard: InstallationSearch {
        let packaged = ["/usr/lib/postgresql", "/usr/local/pgsql"]
            .flatMap { root in
                ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []).map { "\(root)/\($0)/bin" }
            }
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return InstallationSearch(directories: packaged + path)
    }

    func find(version: Int?) throws(EmbeddedPostgresError) -> Installation {
        let all = directories.compactMap(Self.installation).filter { $0.version >= Installation.oldestVersion }
        guard let newest = all.first(where: { $0.version == all.map(\.version).max() }) else {
            throw EmbeddedPostgresError(
                "No Postgres of version \(Installation.oldestVersion) or later was found. Install it: apt-get install postgresql"
            )
        }
        guard let version else { return newest }
        guard let match = all.first(where: { $0.version == version }) else {
            throw EmbeddedPostgresError(
                """
                The database was made by Postgres \(version), which is not installed. Install it \
                (apt-get install postgresql-\(version)), or move the data over with pg_upgrade.
                """
            )
        }
        return match
    }

    /// Requires the server and its tools, because a directory may contain only a wrapper of one program.
    private static func installation(_ directory: String) -> Installation? {
        let programs = ["postgres", "initdb", "pg_ctl"].map { "\(directory)/\($0)" }
        guard programs.allSatisfy(FileManager.default.isExecutableFile),
            let outcome = try? Command([programs[0], "--version"]).run(),
            let match = outcome.output.firstMatch(of: /\(PostgreSQL\) (\d+)/), let version = Int(match.1)
        else { return nil }
        return Installation(directory: directory, version: version)
    }
}
