import Foundation
import Migrations
import PostgresDriver

/// One numbered SQL file.
package struct Migration: Sendable, Hashable {
    /// The number that its file's name begins with; migrations are applied in its order.
    package let version: Int
    /// The name of the file, such as `0001_registry.sql`.
    package let name: String
    /// The whole text of the file.
    package let sql: String

    /// Every migration that this program knows, in order.
    package static let all: [Migration] = Migrations.files.map { file in
        Migration(
            version: Int(file.name.prefix(4)) ?? 0,
            name: file.name,
            sql: String(decoding: file.content, as: UTF8.self)
        )
    }

    /// 64 bits of FNV-1a over the text, in hex: tells an edited file, not an enemy.
    package var checksum: String {
        let hash = sql.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16)
    }

    /// Its commands, in their order. Each ends with a semicolon at the end of a line, where no other one is.
    var commands: [String] {
        sql.components(separatedBy: ";\n").filter { !$0.allSatisfy(\.isWhitespace) }
    }

    /// The statement that notes it as applied. Its values are ours and hold no quotes.
    var record: String {
        "INSERT INTO schema_migrations (version, name, checksum) VALUES (\(version), '\(name)', '\(checksum)');"
    }
}

/// A migration that the database has had.
package struct AppliedMigration: Sendable, Hashable {
    /// The number of the migration.
    package let version: Int
    /// The name of its file, as it was then.
    package let name: String
    /// The ``Migration/checksum`` of the text that was applied.
    package let checksum: String
    /// Postgres's clock when it was applied.
    package let appliedAt: Date

    /// The columns of the table `schema_migrations`.
    static let columns = Columns(
        .one("version"),
        .one("name"),
        .one("checksum"),
        .one("applied_at"),
        as: AppliedMigration.init
    )
}

/// How a database's schema stands to this program.
package struct SchemaStatus: Sendable, Hashable {
    /// The migrations that the database has had, in their order.
    package let applied: [AppliedMigration]
    /// Those that this program knows and the database has not had, in their order.
    package let pending: [Migration]

    /// The version of the database; 0 when it is empty.
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

/// Why this program does not work with a database's schema.
package enum SchemaError: Error, Sendable, Hashable, CustomStringConvertible {
    case behind(Int, Int)
    case ahead(Int, Int)
    case changed(String)

    /// The problem, in a sentence.
    package var detail: String {
        switch self {
        case .behind(let version, let current):
            "The database's schema is at version \(version), this program needs \(current)."
        case .ahead(let version, let current):
            "The database's schema is at version \(version), newer than this program's \(current)."
        case .changed(let name):
            "The migration \(name) was applied with another text than this program has."
        }
    }

    /// The remedy, in a sentence.
    package var remedy: String {
        switch self {
        case .behind: "Run: pushreg migrate"
        case .ahead: "Use a newer pushreg."
        case .changed: "Use the pushreg that applied it."
        }
    }

    /// The problem and the remedy, two sentences.
    package var description: String { "\(detail) \(remedy)" }
}
