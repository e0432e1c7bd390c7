import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// The statements stand in `sql/statements` as they are sent, so that each can be read whole and a change of one shows in a
/// diff. They are written anew by `PUSHREG_WRITE_STATEMENTS=1 swift test --filter StatementFileTests`.
@Suite(.timeLimit(.minutes(15))) struct StatementFileTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("sql/statements")

    @Test("sql/statements has the statements as they are sent") func filesAreAsSent() async throws {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        let groups = try PlannedStatements.all(in: scope) + PlannedStatements.lists(in: scope)
        let types = try await Self.typeNames(of: groups.flatMap(\.statements), in: database)
        let files = Self.files(groups, types)
        #expect(files.count == groups.count, "two groups have one name")
        if ProcessInfo.processInfo.environment["PUSHREG_WRITE_STATEMENTS"] != nil {
            try? FileManager.default.removeItem(at: Self.folder)
            try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
            for (name, text) in files {
                try text.write(to: Self.folder.appendingPathComponent(name), atomically: true, encoding: .utf8)
            }
        }
        let found = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        #expect(found.sorted() == files.keys.sorted())
        for (name, text) in files {
            let file = try? String(contentsOf: Self.folder.appendingPathComponent(name), encoding: .utf8)
            #expect(file == text, "\(name) is not as sent; this suite's comment says how to write it anew")
        }
    }

    /// The text of each file, by its name: the statements of a unit of work in their order, each below the types of its
    /// parameters. A statement that several units send stands in the first file that has it, and the others name that one.
    private static func files(_ groups: [PlannedStatements], _ types: [UInt32: String]) -> [String: String] {
        var places: [String: String] = [:]
        var files: [String: String] = [:]
        for group in groups.sorted(by: { $0.name < $1.name }) {
            let texts = group.statements.filter { !$0.isQuery }.enumerated().map { index, statement in
                let title = "\(group.name), \(index + 1)"
                let parameters = statement.parameters.enumerated().map { number, parameter in
                    "$\(number + 1) \(types[parameter.type.rawValue] ?? "?")"
                }
                let types = parameters.isEmpty ? "" : ": \(parameters.joined(separator: ", "))"
                let text = "\(types)\n\(statement.text);"
                if let place = places[text] { return "-- \(title): the same as \(place)\n" }
                places[text] = title
                return "-- \(title)\(text)\n"
            }
            let name = group.name.split { !$0.isLetter }.joined(separator: "-") + ".sql"
            files[name] = texts.joined(separator: "\n")
        }
        return files
    }

    /// The names of the types of parameters, as Postgres has them, by OID.
    private static func typeNames(
        of statements: [SQL],
        in database: TestDatabase
    ) async throws -> [UInt32: String] {
        let numbers = Set(statements.flatMap(\.parameters).map { Int($0.type.rawValue) })
        let names = try await database.pool.withSession { session in
            try session.execute(
                "SELECT number, format_type(number::oid, NULL) FROM unnest(\(Array(numbers))) AS number"
            ).rows
                .map { try $0.decode(Int.self, String.self) }
        }
        return Dictionary(uniqueKeysWithValues: names.map { (UInt32($0), $1) })
    }
}
