import Foundation
import RegistryClientTestSupport
import Testing

@testable import RegistryClient

/// C20: nothing prints a token.
@Suite struct TokenTests {
    private static let token = Token(Array(0..<80))
    private static let hex = (0..<80).map { String($0, radix: 16) }.map { $0.count == 1 ? "0\($0)" : $0 }.joined()

    @Test("A token prints as the first four bytes of its SHA-256") func aTokenPrintsAsItsFingerprint() {
        #expect(Token("abc".utf8).description == "token ba7816bf")
        #expect("\(Token("".utf8))" == "token e3b0c442")
    }

    @Test(
        "The digest is SHA-256, at every length of its last block",
        arguments: [
            (55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
            (56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"),
            (64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
            (119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"),
        ]
    ) func digests(count: Int, expected: String) {
        let digest = SHA256.digest(of: [UInt8](repeating: UInt8(ascii: "a"), count: count))
        #expect(Token(digest).hexadecimal == expected)
    }

    @Test("Tokens travel as lower-case hex of any length") func hexadecimal() {
        #expect(Token([0, 15, 255]).hexadecimal == "000fff")
        #expect(Self.token.hexadecimal == Self.hex)
    }

    @Test("No description, interpolation or dump of anything that holds a token shows it") func nothingShowsAToken()
        throws
    {
        let registration = ActivityRegistration(activityID: "a-1", token: Self.token)
        let reports: [Report] = [
            .registration(registration), .startToken(attributesType: "T", Self.token),
            .installationToken(.device, Self.token),
            .fullState([registration]),
        ]
        for (index, report) in reports.enumerated() {
            var outbox = Outbox()
            _ = outbox.add(report, observedAt: .at(1), owner: .installation, id: UInt64(index))
            let configuration = LiveActivityRegistry.Configuration.test()
            let request = try #require(
                TransportRequest(outbox.entries[0], InstallationID("i-secret"), "jwt-secret", configuration, .sandbox)
            )
            var shown = "\(report) \(outbox) \(request) \(String(reflecting: request)) \(String(reflecting: report))"
            for value in [report, outbox, request] as [Any] { dump(value, to: &shown) }
            for secret in [Self.hex, Self.hex.uppercased(), "[0, 1, 2", "- 79\n", "jwt-secret", "i-secret"] {
                #expect(!shown.contains(secret), "\(secret)")
            }
            #expect(request.body.map { String(decoding: $0, as: UTF8.self).contains(Self.hex) } == true, "the control")
        }
    }

    @Test("A stored token that is not hex is refused by a sentence without it", arguments: ["\"abc\"", "\"zz\""])
    func malformedTokens(json: String) {
        let error = #expect(throws: DecodingError.self) { try JSONDecoder().decode(Token.self, from: Data(json.utf8)) }
        #expect(error.map { !"\($0)".contains(json.dropFirst().dropLast()) } ?? false)
    }
}
