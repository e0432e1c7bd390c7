import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// `pushreg export --everything` and `pushreg import --everything` move an app whole.
@Suite(.timeLimit(.minutes(15))) struct EverythingTests {
    private static let name = "com.example.food"

    /// Two databases and the file between them; in the second one another app has the first number.
    private static func moved() async throws -> (app: WholeApp, TestDatabase, TestDatabase, TransferFile) {
        let (source, target) = (try await TestDatabase.make(), try await TestDatabase.make())
        let other = try await target.scope("com.example.other")
        for number in 1...3 {
            let registration = ActivityRegistration.sample(token: .sample(number))
            _ = try await target.registry.register(registration, as: .sample("o-\(number)"), in: other, by: "test")
        }
        let app = try await WholeApp.make(on: source)
        let file = try TransferFile()
        let exported = try await file.exportWhole(from: source, ["--json"])
        #expect(exported.status == 0, "\(exported.words)")
        let imported = try await file.loadWhole(into: target)
        #expect(imported.status == 0, "\(imported.words)")
        // Both say the same of how much it was.
        #expect(exported.results == imported.results && exported.results.contains(#""erasures":"#))
        return (app, source, target, file)
    }

    // MARK: What comes over

    @Test("Every row of every table comes over as it was") func everyRowComesOver() async throws {
        let (_, source, target, file) = try await Self.moved()
        defer { file.remove() }
        let (before, after) = (try await source.movedRows(), try await target.movedRows())
        #expect(before.filter(\.value.isEmpty).keys.sorted() == [], "nothing is tried of a table without rows")
        #expect(before.keys.sorted() == after.keys.sorted())
        for (table, rows) in before { #expect(after[table] == rows, "\(table)") }
        #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int == 0o600)
        #expect(!FileManager.default.fileExists(atPath: file.progress))
        // A new row gets a number that no row has.
        let scope = try await target.scope()
        _ = try await target.registry.register(.sample(token: .sample(77)), as: .sample("new"), in: scope, by: "test")
        let doubled = try await target.count(
            "SELECT count(*) - count(DISTINCT (app_number, activity_number)) FROM activities"
        )
        #expect(doubled == 0)
        // Once more: only what is there now is compared.
        let again = try await file.loadWhole(into: source)
        #expect(again.status == 0 && again.words.contains("is there already as the file has it"), "\(again.words)")
        #expect(try await source.movedRows() == before)
    }

    @Test("Keys work, the dead stay dead, and nobody returns") func theDeadStayDead() async throws {
        let (app, _, target, file) = try await Self.moved()
        defer { file.remove() }
        let service = try await ServiceProcess.start(
            database: ["--database-url", target.connectionString],
            arguments: ["--unsafe-durability"],
            isInsecure: false
        )
        let sender = app.keys["sender"]
        func code(_ method: String, _ path: String, _ body: String? = nil) async throws -> String {
            let answer = try await service.call(method, "\(ServiceProcess.app)/\(path)", body, key: sender)
            guard case .string(let code)? = try? JSONParser.parse(answer.body)["code"] else {
                return "\(answer.status)"
            }
            return code
        }
        func tokens(_ alias: String) async throws -> [String] {
            let path = "\(ServiceProcess.app)/aliases/orderId/\(alias)/activities"
            let answer = try await service.call("GET", path, key: sender)
            guard case .array(let found)? = try JSONParser.parse(answer.body)["activities"] else {
                return [answer.body]
            }
            return found.compactMap { if case .string(let token)? = $0["token"] { token } else { nil } }
        }
        func token(_ number: Int, minutesAgo: Double? = nil) -> String {
            let time = minutesAgo.map { #","observedAt":"\#(RFC3339.format(.minutesAgo($0)))""# } ?? ""
            return #"{"token":"\#(WholeApp.token(number))"\#(time)}"#
        }
        #expect(try await tokens("runs") == [WholeApp.token(1)])
        #expect(try await tokens("rotated") == [WholeApp.token(3)])
        for alias in ["ended", "dead", "quarantined", "gone"] { #expect(try await tokens(alias) == [], "\(alias)") }
        #expect(try await code("PUT", "activities/rotated", token(2)) == "superseded")
        #expect(try await code("PUT", "activities/ended", token(4)) == "activity-ended")
        #expect(try await code("PUT", "activities/never-seen", token(50)) == "activity-ended")
        #expect(try await code("PUT", "activities/erased", token(30, minutesAgo: 20)) == "activity-ended")
        #expect(try await code("PUT", "activities/dead", token(8, minutesAgo: 30)) == "token-unregistered")
        // Of a value that nobody ever registered.
        #expect(try await code("PUT", "activities/other", token(99, minutesAgo: 5)) == "token-unregistered")
        // Known as a device token.
        #expect(try await code("PUT", "activities/other", token(22)) == "token-kind-conflict")
        let renamed = #","aliases":{"userId":"u-7"}}"#
        let late = token(51, minutesAgo: 20).dropLast() + renamed
        #expect(try await code("PUT", "activities/another", String(late)) == "activity-ended")
        let erased = "\(ServiceProcess.app)/aliases/userId/u-7/activities"
        #expect(try await service.call("GET", erased, key: sender).body.contains(#""activities":[]"#))
        // The lease is somebody's still.
        let plan = #"{"alias":{"kind":"orderId","value":"next"},"attributesType":"Delivery"}"#
        let planned = try await service.call("POST", "\(ServiceProcess.app)/plan", plan, key: sender)
        #expect(planned.body.contains(#""action":"wait""#) && planned.body.contains("leasedUntil"), "\(planned.body)")
        // A client's confirmation ends the quarantine there, as it would have here.
        #expect(try await code("PUT", "activities/quarantined", token(9)) == "200")
        #expect(try await tokens("quarantined") == [WholeApp.token(9)])
        // The feed of the other database begins anew.
        #expect(try await code("GET", "changes?after=\(app.position)") == "feed-reset")
        #expect(try await service.call("GET", "/v1/apps/\(Self.name)", key: app.keys["admin"]).body.contains("P9D"))
        #expect(try await service.call("GET", "/v1/apps/\(Self.name)/keys", key: sender).status == 403)
        #expect(try await service.call("GET", erased, key: app.revokedKey).status == 401)
        #expect(await service.stop() == 0)
    }

    // MARK: What is refused

    @Test("An app that is there with something else is left alone") func anotherAppIsLeftAlone() async throws {
        let (_, source, target, file) = try await Self.moved()
        defer { file.remove() }
        // One that is in use since.
        let scope = try await target.scope()
        try await target.registry.end(.sample("runs"), reason: .ended, observedAt: nil, in: scope, by: "test")
        let before = try await target.movedRows()
        let used = try await file.loadWhole(into: target)
        #expect(used.status == 1 && used.words.contains("is there already, and has another row of "), "\(used.words)")
        #expect(try await target.movedRows() == before)
        // One that has more.
        let app = try #require(try await source.registry.app(BundleID(Self.name)))
        let theirs = Scope(app: app, environment: .sandbox)
        _ = try await source.registry.register(.sample(token: .sample(78)), as: .sample("more"), in: theirs, by: "test")
        let more = try await file.loadWhole(into: source)
        #expect(
            more.status == 1 && more.words.contains("rows of activities, and by the file's last line"),
            "\(more.words)"
        )
        // One of the same name that never had anything to do with it.
        let third = try await TestDatabase.make()
        _ = try await third.scope()
        let stranger = try await file.loadWhole(into: third)
        #expect(stranger.status == 1 && stranger.words.contains("pushreg apps delete"), "\(stranger.words)")
        #expect(try await third.count("SELECT count(*) FROM activities") == 0)
    }

    @Test("Who may not read or write the tables is told so") func wrongRightsAreRefused() async throws {
        let source = try await TestDatabase.make(isAlone: true)
        _ = try await source.scope()
        let role = "reader_\(UInt32.random(in: 0 ..< .max))"
        try await source.execute("CREATE ROLE \(unescaped: role) LOGIN")
        let file = try TransferFile()
        defer { file.remove() }
        try await file.exportWhole(from: source)
        let whole = file.text
        func run(_ command: [String]) async throws -> Program.Outcome {
            let flags = ["--database-url", source.connectionString + " user=\(role)", "--unsafe-durability"]
            return try await Program.run(command + flags)
        }
        let other = file.directory + "/other.ndjson"
        let blind = try await run(["export", "--everything", Self.name, "--output", other])
        #expect(blind.status == 77 && blind.words.contains("permission denied"), "\(blind.words)")
        // A role that may read the settings of apps may not read their keys.
        try await source.execute("GRANT SELECT ON schema_migrations, apps TO \(unescaped: role)")
        let curious = try await run(["export", "--everything", Self.name, "--output", other])
        #expect(curious.status == 77 && curious.words.contains("permission denied"), "\(curious.words)")
        #expect(!FileManager.default.fileExists(atPath: other))
        #expect(try await source.registry.deleteApp(BundleID(Self.name), by: "test"))
        try await source.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO \(unescaped: role)")
        try file.write(whole)
        let reader = try await run(["import", "--everything", file.path])
        #expect(reader.status == 77 && reader.words.contains("permission denied"), "\(reader.words)")
        #expect(try await source.count("SELECT count(*) FROM apps") == 0)
        try await source.execute("DROP OWNED BY \(unescaped: role)")
        try await source.execute("DROP ROLE \(unescaped: role)")
    }

    @Test("The two kinds of export are told apart") func theTwoKindsAreToldApart() async throws {
        let database = try await TestDatabase.make()
        _ = try await database.scope()
        let file = try TransferFile()
        defer { file.remove() }
        let flags = TransferFile.flags(database)
        for (command, says) in [
            (["export", "--everything", "com.example.none"], "There is no app com.example.none"),
            (["export", "--everything", "no bundle id"], "BUNDLE_ID"),
            (["export", Self.name, "--everything", Self.name], "no other argument may be given"),
            (["export", Self.name], "BUNDLE_ID and ENVIRONMENT are missing, or --everything"),
            (["export", "--everything", Self.name, "--output", file.path, "--resume"], "leave out --resume"),
            (["import", Self.name, "sandbox"], "BUNDLE_ID, ENVIRONMENT and FILE are missing, or --everything"),
            (["import", Self.name, "sandbox", file.path, "--everything", file.path], "takes a file of its own"),
            (["import", "--everything", file.path], "could not be read"),
        ] {
            let outcome = try await Program.run(command + flags)
            #expect(outcome.status != 0 && outcome.words.contains(says), "\(command): \(outcome.words)")
        }
        #expect(!FileManager.default.fileExists(atPath: file.path))
        // The file stays, though nobody hears of it.
        let command = ["export", "--everything", Self.name, "--output", file.path, "--json"] + flags
        #expect(try await Program.intoNowhere(command).status != 0)
        #expect(file.text.contains(#""end""#))
        try FileManager.default.removeItem(atPath: file.path)
        try await file.exportWhole(from: database)
        let again = try await file.exportWhole(from: database)
        #expect(
            again.status == 64 && again.words.contains("is there already. An export of everything is of one moment")
        )
        let plain = try await file.load(into: database)
        #expect(plain.status == 64 && plain.words.contains("pushreg import --everything"), "\(plain.words)")
    }
}

extension TransferFile {
    @discardableResult
    func exportWhole(from database: TestDatabase, _ flags: [String] = []) async throws -> Program.Outcome {
        try await Program.run(
            ["export", "--everything", "com.example.food", "--output", path] + Self.flags(database) + flags
        )
    }

    func loadWhole(into database: TestDatabase, _ flags: [String] = []) async throws -> Program.Outcome {
        try await Program.run(["import", "--everything", path, "--json"] + Self.flags(database) + flags)
    }
}
