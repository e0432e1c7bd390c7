import Foundation
import RegistryCore
import RegistryStore
import TestSupport

@testable import pushreg

/// A made-up export of OneSignal's, in a directory of its own.
struct OneSignalFile {
    /// OneSignal's columns in its own order, those that an import needs among them.
    static let columns = [
        "id", "identifier", "session_count", "language", "timezone", "game_version", "device_os", "device_type",
        "device_model", "ad_id", "tags", "last_active", "playtime", "amount_spent", "created_at", "invalid_identifier",
        "badge_count", "external_user_id",
    ]

    let file: TransferFile

    init(_ text: String = "") throws {
        file = try TransferFile()
        try file.write(text)
    }

    func remove() { file.remove() }

    /// A device's row, whose other columns have what OneSignal's have: quotes, commas and line breaks among it.
    static func row(
        _ number: Int,
        user: String,
        token: String? = nil,
        lastActive: String,
        type: String = "0",
        invalid: String = "f"
    ) -> String {
        let tags = #""{""plan"": ""pro"", ""note"": ""two\#nlines""}""#
        return [
            "id-\(number)", token ?? Self.token(number), "12", "en", "-25200", "3.2.0", "17.4", type, #""iPhone15,2""#,
            "", tags, lastActive, "0", "0", "1700000000", invalid, "0", user,
        ].joined(separator: ",")
    }

    static func token(_ number: Int) -> String { Hexadecimal.encode(PushToken.sample(number).bytes) }

    static func seconds(minutesAgo minutes: Double) -> String {
        String(Int(Date.minutesAgo(minutes).timeIntervalSince1970))
    }

    static func text(_ rows: [String]) -> String {
        ([columns.joined(separator: ",")] + rows).joined(separator: "\n") + "\n"
    }

    /// Imports and gives what it said.
    func load(into database: TestDatabase, _ flags: [String] = []) async throws -> Program.Outcome {
        try await file.load(into: database, ["--from", "onesignal-csv"] + flags)
    }

    static func hash(_ number: Int, in scope: Scope) -> InstallationHash {
        InstallationHash(of: "id-\(number)", knownTo: "onesignal", in: scope.app.bundleID)
    }

    /// The device tokens of a user, as a sender gets them.
    static func tokens(_ user: String, _ database: TestDatabase, _ scope: Scope) async throws -> [ResolvedToken] {
        try await database.registry.tokens(under: .sample("userId", user), .device, limit: 100, in: scope)
    }
}
