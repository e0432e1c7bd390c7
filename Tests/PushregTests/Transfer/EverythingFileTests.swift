import Foundation
import PostgresDriver
import RegistryStore
import TestSupport
import Testing

/// Files that `pushreg import --everything` does not take.
@Suite(.timeLimit(.minutes(15))) struct EverythingFileTests {
    /// A change of the lines of a file, and the sentence that is said of it.
    struct Broken: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let status: Int32
        let says: String
        let change: @Sendable (inout [String]) -> Void

        init(
            _ description: String,
            _ says: String,
            status: Int32 = 1,
            _ change: @escaping @Sendable (inout [String]) -> Void
        ) {
            (testDescription, self.status, self.says, self.change) = (description, status, says, change)
        }

        /// The place of the first line of a table, and its number.
        static func first(_ table: String, _ lines: [String]) -> Int {
            lines.firstIndex { $0.hasPrefix("{\"\(table)\"") } ?? 0
        }
    }

    static let broken = [
        Broken("no export", "line 1: This does not begin as", status: 64) { $0[0] = "a diary" },
        Broken("nothing", "line 1: This does not begin as", status: 64) { $0 = [] },
        Broken(
            "an export of one environment",
            "line 1: This is an export of com.example.food in sandbox alone",
            status: 64
        ) {
            $0[0] = #"{"export":{"version":1,"app":"com.example.food","environment":"sandbox"}}"#
        },
        Broken(
            "an older schema",
            "line 1: The export is of version 5 of the schema, and this program has version",
            status: 64
        ) {
            $0[0] = #"{"export":{"everything":true,"schema":5,"app":"com.example.food"}}"#
        },
        Broken("no JSON", "line 3: It is not JSON") { $0[2] = String($0[2].dropLast(2)) },
        Broken("no table of an app", "line 3: It is no row of a table") {
            $0[2] = #"{"schema_migrations":{"version":9}}"#
        },
        Broken("an event", "line 3: It is no row of a table") { $0[2] = #"{"events":{"type":"ended"}}"# },
        Broken("another column", "line 3: It has a column that its table has not.") {
            $0[2] = String($0[2].dropLast(2)) + #","colour":"red"}}"#
        },
        Broken("another app's number", "line 3: It has a column that its table has not.") {
            $0[2] = String($0[2].dropLast(2)) + #","app_number":1}}"#
        },
        Broken("two tables in one line", "line 3: It has a column that its table has not.") {
            $0[2] = String($0[2].dropLast()) + #","erasures":{}}"#
        },
        Broken("no row", "line 3: It is not JSON, or a value") { $0[2] = #"{"api_keys":7}"# },
        Broken("a value of another form", "It is not JSON, or a value in it is not of its column's form") {
            $0[Broken.first("erasures", $0)] =
                #"{"erasures":{"environment":"sandbox","erased_digest":"\\x00","erased_at":"late"}}"#
        },
        Broken("a broken rule", "It breaks the rule channels_policy_is_known.") {
            let place = Broken.first("channels", $0)
            $0[place] = $0[place].replacingOccurrences(
                of: #""message_storage_policy": 1"#,
                with: #""message_storage_policy": 7"#
            )
        },
        Broken("a value that is missing", "A column that must have a value has none.") {
            $0[Broken.first("erasures", $0)] = #"{"erasures":{"environment":"sandbox"}}"#
        },
        Broken("a NUL", "It is not JSON, or a value in it") {
            $0[Broken.first("channels", $0)] = #"{"channels":{"kind":"\u0000"}}"#
        },
        Broken("a deep nest", "line 3: It is not JSON, or a value") {
            $0[2] = #"{"api_keys":"# + String(repeating: "[", count: 500_000)
        },
        Broken("a line that is too long", "line 3: It is longer than 1024 KiB.") {
            $0[2] = #"{"api_keys":""# + String(repeating: "x", count: 1 << 20)
        },
        Broken("a row less", "There are ") { $0.remove(at: Broken.first("erasures", $0)) },
        Broken("a row twice in place of another", "There are ") {
            let place = Broken.first("activities", $0)
            $0[place + 1] = $0[place]
        },
        Broken("lines behind the end", ": It stands behind the last line of the export.") { $0.append($0[2]) },
        Broken("the app twice", ": The app has a line already.") {
            let place = Broken.first("apps", $0)
            $0.insert($0[place], at: place)
        },
        Broken("another app's row", ": The app is not com.example.food") {
            let place = Broken.first("apps", $0)
            $0[place] = $0[place].replacingOccurrences(of: "com.example.food", with: "com.example.cook")
        },
        Broken("no end", "The file is incomplete") { $0.removeLast() },
        Broken("no app", "The file is incomplete") { $0.remove(at: Broken.first("apps", $0)) },
        Broken("half of it", "The file is incomplete") { $0 = Array($0.prefix($0.count / 2)) },
    ]

    @Test("A file that is not whole brings nothing, and says which line it is") func brokenFilesBringNothing()
        async throws
    {
        let (source, target) = (try await TestDatabase.make(), try await TestDatabase.make())
        _ = try await WholeApp.make(on: source)
        let file = try TransferFile()
        defer { file.remove() }
        try await file.exportWhole(from: source)
        let whole = file.text.split(separator: "\n").map(String.init)
        for broken in Self.broken {
            var lines = whole
            broken.change(&lines)
            try file.write(lines.map { $0 + "\n" }.joined())
            let outcome = try await file.loadWhole(into: target)
            #expect(
                outcome.status == broken.status && outcome.words.contains(broken.says),
                "\(broken.testDescription): \(outcome.words)"
            )
            #expect(
                outcome.words.utf8.count < 600 && !outcome.words.contains("0000000"),
                "\(broken.testDescription): \(outcome.words)"
            )
            #expect(try await target.count("SELECT count(*) FROM apps") == 0, "\(broken.testDescription)")
            let dry = try await file.loadWhole(into: target, ["--dry-run"])
            let isOfWriting =
                broken.testDescription.contains("twice in place")
                || broken.says.contains(#/rule|must have a value|app is not/#)
            #expect(dry.status == (isOfWriting ? 0 : broken.status), "\(broken.testDescription): \(dry.words)")
        }
        // Their rows go with a sweep, once they lay idle for a day; the last of them no sooner.
        let left = try await target.count("SELECT count(*) FROM deleted_apps")
        #expect(left > 0)
        try await target.execute("UPDATE deleted_apps SET deleted_at = now() - interval '1 second'")
        #expect(try await target.registry.finishDeletions() == left)
        #expect(
            try await target.count("SELECT (SELECT count(*) FROM activities) + (SELECT count(*) FROM api_keys)") == 0
        )
        try file.write(whole.map { $0 + "\n" }.joined())
        #expect(try await file.loadWhole(into: target).status == 0)
        #expect(try await source.movedRows() == target.movedRows())
    }
}
