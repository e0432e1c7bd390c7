import Foundation
import HTTPTypes
import RegistryStore
import Testing

@testable import RegistryCore
@testable import RegistryServer

@Suite(.secureService, .timeLimit(.minutes(15))) struct KeyForgeryTests {
    /// A key with a correct checksum.
    private static func sealed(_ body: String) -> String { body + Base62.sixDigits(CRC32.checksum(body.utf8)) }

    private static func forgeries(_ mine: APIKey, _ other: APIKey, revoked: APIKey, expired: APIKey) -> [String] {
        let (text, secret) = (mine.text.revealed, mine.secret.revealed)
        let digits = mine.id.rawValue.dropFirst(4)
        let raised = ["prs_", "pru_", "pra_", "prr_", "prx_", "PRC_"].map { sealed("\($0)\(digits)_\(secret)") }
        return raised + [
            sealed("\(mine.id)_\(other.secret.revealed)"), sealed("\(other.id)_\(secret)"),
            sealed("\(mine.id)_\(secret.reversed().map(String.init).joined())"),
            sealed("\(mine.id)_\(secret.uppercased())"),
            sealed("\(mine.id)_\(secret.dropLast())"), sealed("\(mine.id)_\(secret)0"), sealed("\(mine.id)_"),
            sealed("\(mine.id)_\(String(repeating: "0", count: 24))"), sealed("\(mine.id)-\(secret)"),
            APIKey(random: .client).text.revealed, APIKey(random: .root).text.revealed, mine.id.rawValue, secret,
            String(text.dropLast()), String(text.dropFirst()), text + "0", text.lowercased(), text + "," + text,
            "\(text) \(text)", "%20" + text, Hexadecimal.encode(mine.secretDigest), revoked.text.revealed,
            expired.text.revealed,
        ]
    }

    @Test func `Every forged key is refused`() async throws {
        let (mine, other) = (try await server.key(.client), try await server.key(.client))
        let (revoked, expired) = (
            try await server.key(.sender), try await server.key(.sender, expiresAt: Date(timeIntervalSinceNow: -1))
        )
        let app = try #require(try await server.registry.app(BundleID("com.example.food")))
        #expect(try await server.registry.revokeKey(revoked.key.id, ofApp: app.id, by: "test"))
        let forgeries = Self.forgeries(mine.key, other.key, revoked: revoked.key, expired: expired.key)
        #expect(forgeries.count >= 29)
        func problem(_ authorization: String) async throws -> String {
            let fields: HTTPFields = [.authorization: authorization, .installationID: "x"]
            return try await server.call(.put, "…/activities/a", ["token": "00"], fields).problem
        }
        for (number, forgery) in forgeries.enumerated() {
            #expect(try await problem("Bearer \(forgery)") == "unauthenticated", "the forgery \(number)")
        }
        let text = mine.key.text.revealed
        for header in [
            "Basic \(text)", text, "Bearer\(text)", "Token \(text)", "Bearer:\(text)", "Bearer, \(text)",
        ] { #expect(try await problem(header) == "unauthenticated") }
        #expect(try await problem("Bearer \(text)") == "")
    }
}
