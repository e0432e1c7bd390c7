import Foundation
import PostgresDriver
import Queries

package struct Migration: Sendable, Hashable {
    /// From the file's name. Migrations are applied in this order.
    package let version: Int
    package let name: String
    package let sql: String

    package static let all: [Migration] = Migrations.files.map { file in
        Migration(
            version: Int(file.name.prefix(4)) ?? 0,
            name: file.name,
            sql: String(decoding: file.content, as: UTF8.self)
        )
    }

    /// 64-bit FNV-1a of the text, in hex. Detects edits, not attacks.
    package var checksum: String {
        let hash = sql.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16)
    }

    /// A command ends with a semicolon at the end of a line. No other line may end with a semicolon.
    var commands: [String] {
        sql.components(separatedBy: ";\n").filter { !$0.allSatisfy(\.isWhitespace) }
    }

    /// The values need no quoting.
    var record: String {
        "INSERT INTO schema_migrations (version, name, checksum) VALUES (\(version), '\(name)', '\(checksum)');"
    }
}

package struct AppliedMigration: Sendable, Hashable, DecodableRow {
    package let version: Int
    package let name: String
    package let checksum: String
    /// By Postgres's clock.
    package let appliedAt: Date

    package init(row: NamedRow) throws {
        version = try row["version"]
        name = try row["name"]
        checksum = try row["checksum"]
        appliedAt = try row["applied_at"]
    }
}

package struct SchemaStatus: Sendable, Hashable {
    package let applied: [AppliedMigration]
    package let pending: [Migration]

    /// 0 for an empty database.
    package var version: Int { applied.last?.version ?? 0 }

    init(applied: [AppliedMigration]) throws(SchemaError) {
        let current = SchemaMigrator.currentVersion
        if let last = applied.last, last.version > current { throw .ahead(last.version, current) }
        for migration in applied {
            let ours = Migration.all.first { $0.version == migration.version }
            guard ours?.checksum == migration.checksum else { throw .changed(migration.name) }
        }
        self.applied = applied
        pending = Migration.all.filter { migration in !applied.contains { $0.version == migration.version } }
    }
}

package enum SchemaError: Error, Sendable, Hashable, CustomStringConvertible {
    case behind(Int, Int)
    case ahead(Int, Int)
    case changed(String)
    case encoding(String)

    package var detail: String {
        switch self {
        case .behind(let version, let current):
            "The database's schema is at version \(version), but this program needs \(current)."
        case .ahead(let version, let current):
            "The database's schema is at version \(version), newer than this program's \(current)."
        case .changed(let name):
            "The applied migration \(name) differs from this program's."
        case .encoding(let encoding):
            "The database has the encoding \(encoding), which does not have all characters of names."
        }
    }

    package var remedy: String {
        switch self {
        case .behind: "Run: pushreg migrate"
        case .ahead: "Use a newer pushreg."
        case .changed: "Use the pushreg that applied it."
        case .encoding: "Create another: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        }
    }

    package var description: String { "\(detail) \(remedy)" }
}
