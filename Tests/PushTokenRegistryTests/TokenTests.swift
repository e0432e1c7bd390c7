import Foundation
import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// C20: nothing prints a token.
@Suite struct TokenTests {
    private static let token = PushToken(Array(0..<80))
    private static let hex = (0..<80).map { String($0, radix: 16) }.map { $0.count == 1 ? "0\($0)" : $0 }.joined()

    #if canImport(CryptoKit)
        @Test(arguments: [
            (0, "e3b0c442"), (3, "9834876d"), (55, "9f4390f8"), (56, "b35439a4"), (64, "ffe054fe"),
            (119, "31eba51c"),
        ])
        func `A token of any length prints as the first four bytes of its SHA-256`(count: Int, expected: String) {
            let token = PushToken([UInt8](repeating: UInt8(ascii: "a"), count: count))
            #expect(token.description == "token \(expected)")
        }
    #endif

    @Test func `Tokens are sent as lower-case hex`() {
        #expect(PushToken([0, 15, 255]).hexadecimal == "000fff")
        #expect(Self.token.hexadecimal == Self.hex)
    }

    @Test func `Descriptions, interpolations and dumps never show a token`() {
        let registration = ActivityRegistration(activityID: "a-1", token: Self.token)
        let reports: [Report] = [
            .registration(registration), .startToken(attributesType: "T", Self.token),
            .installationToken(.device, Self.token), .fullState([registration]),
        ]
        for (index, report) in reports.enumerated() {
            var outbox = Outbox()
            let entry = OutboxEntry(id: UInt64(index), report: report, observedAt: .at(1), owner: .installation)
            _ = outbox.add(entry)
            var shown = "\(report) \(outbox) \(String(reflecting: outbox)) \(String(reflecting: report))"
            for value in [report, outbox] as [Any] { dump(value, to: &shown) }
            for secret in [Self.hex, Self.hex.uppercased(), Data(0..<80).base64EncodedString(), "[0, 1, 2", "- 79\n"] {
                #expect(!shown.contains(secret), "\(secret)")
            }
            let body = LiveActivityRegistry.Configuration.test().request(entry, "i-1", "k").httpBody
            #expect(body.map { String(decoding: $0, as: UTF8.self).contains(Self.hex) } == true, "the control")
        }
    }

    @Test func `A stored token is read unchanged, and the error for a malformed token does not show it`() throws {
        #expect(try JSONDecoder().decode(PushToken.self, from: JSONEncoder().encode(Self.token)) == Self.token)
        let malformed = Data(#"{"bytes": "?secret?"}"#.utf8)
        let error = #expect(throws: DecodingError.self) { try JSONDecoder().decode(PushToken.self, from: malformed) }
        #expect(error.map { !"\($0)".contains("secret") } ?? false)
    }
}
