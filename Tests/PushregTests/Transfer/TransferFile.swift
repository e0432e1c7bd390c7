import Foundation
import TestSupport
import Testing

/// A file, and a database to export from with the app `com.example.food`; with `hasTarget`, also one to import into.
struct TransferTrait: SuiteTrait, TestTrait, TestScoping {
    @TaskLocal fileprivate static var place: (file: TransferFile, database: TestDatabase, target: TestDatabase?)?
    let hasTarget: Bool
    let isRecursive = true

    func provideScope(for _: Test, testCase _: Test.Case?, performing test: TestBody) async throws {
        let file = try TransferFile()
        defer { file.remove() }
        let database = try await TestDatabase.withScope().0
        let target = hasTarget ? try await TestDatabase.withScope().0 : nil
        try await Self.$place.withValue((file, database, target), operation: test)
    }
}

extension Trait where Self == TransferTrait {
    static var transfer: Self { TransferTrait(hasTarget: false) }
    static var transferToTarget: Self { TransferTrait(hasTarget: true) }
}

private var place: (file: TransferFile, database: TestDatabase, target: TestDatabase?) {
    TransferTrait.place ?? { fatalError("The test lacks a trait of TransferTrait.") }()
}
var file: TransferFile { place.file }
var database: TestDatabase { place.database }
var target: TestDatabase { place.target ?? { fatalError("The test lacks the trait .transferToTarget.") }() }

struct TransferFile {
    let directory: String
    var path: String { directory + "/export.ndjson" }
    var progress: String { path + ".imported" }

    init() throws {
        directory = "/tmp/pushreg-transfer-\(UUID())"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    }

    func remove() { try? FileManager.default.removeItem(atPath: directory) }
    var text: String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
    func write(_ text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) }

    /// The records, sorted, because a parallel import numbers rows in another order.
    var records: [Substring] { text.split(separator: "\n").filter { $0.hasPrefix("{\"record\":") }.sorted() }

    static let scope = ["com.example.food", "sandbox"]

    @discardableResult
    func export(from database: TestDatabase) async throws -> Program.Outcome {
        try await Program.run(["export"] + Self.scope + ["--output", path] + database.flags, gives: 0)
    }

    /// - Parameter status: the expected exit code.
    @discardableResult
    func load(
        into database: TestDatabase,
        _ flags: [String] = [],
        gives status: Int32 = 0,
        _ words: String = "",
        at location: SourceLocation = #_sourceLocation
    ) async throws -> Program.Outcome {
        let command = ["import"] + Self.scope + [path, "--json"] + database.flags + flags
        return try await Program.run(command, gives: status, words, at: location)
    }
}
