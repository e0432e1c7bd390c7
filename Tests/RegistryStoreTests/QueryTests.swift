import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

@Suite(.timeLimit(.minutes(15))) struct QueryTests {
    private static var queries: [Query] { Query.all.values.sorted { $0.name < $1.name } }

    private static func files(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: ProjectFiles.root.appendingPathComponent(folder).path)
            .sorted()
    }

    @Test func `Every file is embedded`() throws {
        #expect(try Self.files(in: "sql/migrations") == Migration.all.map(\.name))
        let subjects = Set(Self.queries.map { $0.name.prefix { $0 != "." } + ".sql" })
        #expect(try Self.files(in: "sql/queries") == subjects.map(String.init).sorted())
    }

    @Test func `Every query is used and fits on a screen`() throws {
        let code = try ProjectFiles.texts(in: "Sources").map(\.text).joined()
        for query in Self.queries {
            #expect(code.contains("\"\(query.name)\""), "no code uses \(query.name)")
            #expect(query.text.split(separator: "\n").count <= 40, "\(query.name) is too long")
        }
    }

    /// Types that the driver encodes in binary.
    private static let boundTypes: Set<String> = [
        "boolean", "smallint", "integer", "bigint", "double precision", "text", "bytea", "jsonb", "interval",
        "timestamp with time zone", "tid",
    ]

    @Test func `Every query fits the schema, and its parameters have types that Swift binds`() async throws {
        let database = try await TestDatabase.make()
        try await database.pool.withSession { session in
            for query in Self.queries {
                do {
                    for (name, type) in zip(query.parameters, try session.parameterTypes(of: query)) {
                        let element = type.hasSuffix("[]") ? String(type.dropLast(2)) : type
                        // A composite type is bound as a `PostgresComposite`.
                        let isBound = Self.boundTypes.contains(element) || element.hasSuffix("_write")
                        #expect(isBound, "\(query.name): cast :\(name), of type \(type)")
                    }
                } catch let error as PostgresError { Issue.record("\(query.name): \(error)") }
            }
        }
    }
}
