import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

/// Seeded random and mutated bytes for every parser of external input: none may trap, and accepted input must survive a round trip.
@Suite(.timeLimit(.minutes(60))) struct ParserFuzzTests {
    private static let executions = TestScale.isLong ? 10_000_000 : 100_000

    /// Parses an input. Returns whether it was accepted, and throws if a round trip changes it.
    struct Parser: Sendable, CustomTestStringConvertible {
        let name: String
        let seeds: [String]
        let check: @Sendable ([UInt8]) throws -> Bool
        var testDescription: String { name }

        init(name: String, seeds: [String], check: @escaping @Sendable ([UInt8]) throws -> Bool) {
            (self.name, self.seeds, self.check) = (name, seeds, check)
        }

        /// A parser of texts. The closure returns the accepted value's text, or throws or returns nil.
        init(_ name: String, _ seeds: [String], written: @escaping @Sendable (String) throws -> String?) {
            self.init(name: name, seeds: seeds) { bytes in
                guard let read = try? written(text(bytes)) else { return false }
                try same(read, text(bytes), bytes)
                return true
            }
        }
    }

    struct Mismatch: Error {
        let input: String
        let detail: String
    }

    static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    static func same<Value: Equatable>(_ left: Value, _ right: Value, _ bytes: [UInt8]) throws {
        guard left == right else { throw Mismatch(input: "\(bytes)", detail: "\(left) does not equal \(right)") }
    }

    static let parsers: [Parser] =
        [token, cursor, key, path, jwt, time, identifiers, media, addresses] + requestParsers

    private static let token = Parser("token", ["0123456789abcdef", "", String(repeating: "ab", count: 512)]) {
        // Upper case is accepted, and lower case is written.
        let hexadecimal = Hexadecimal.encode(try PushToken(hexadecimal: $0).bytes)
        return hexadecimal == $0.lowercased() ? $0 : hexadecimal
    }

    private static let scope = Scope(app: .sample(), environment: .sandbox)
    private static let alias = Alias.sample("orderId", "42")
    private static let cursor = Parser(
        "cursor",
        [0, 1, 255, 1 << 40, .max].map { ListPosition(number: $0).cursor(of: alias.list("activities"), in: scope) }
    ) {
        try ListPosition(cursor: $0, of: alias.list("activities"), in: scope, "this alias").cursor(
            of: alias.list("activities"),
            in: scope
        )
    }

    private static let key = Parser("API key", Role.allCases.map { APIKey(random: $0).text.revealed }) {
        APIKey(Secret($0))?.text.revealed
    }

    private static let path = Parser(
        name: "path",
        seeds: ["/v1/apps/com.example.food/sandbox/activities/a%2Fb?x=1&y=%20+", "/%C3%A9//?=&&a", "/"]
    ) { bytes in
        guard let target = try? RequestTarget(text(bytes)) else { return false }
        let visible = CharacterSet(charactersIn: Unicode.Scalar(0x21)...Unicode.Scalar(0x7E))
            .subtracting(CharacterSet(charactersIn: "/?%#"))
        let again = target.parts.map { "/" + ($0.addingPercentEncoding(withAllowedCharacters: visible) ?? "") }.joined()
        try same(RequestTarget(again).parts, target.parts, bytes)
        _ = try? RouteTable(Route.all).match(.get, target.parts)
        return true
    }

    private static let jwt = Parser(
        name: "JWT",
        seeds: [
            TestIssuer.honest.token(at: Date(timeIntervalSince1970: 1_800_000_000)),
            TestIssuer.honest.token(.rsa, header: ["typ": "at+jwt"], at: Date(timeIntervalSince1970: 1_800_000_000)),
            "eyJhbGciOiJub25lIn0.e30.AA", "..", "a.b.c",
        ]
    ) { bytes in
        _ = try? Credentials([.authorization: "Bearer " + text(bytes)])
        guard let token = try? CompactJWT(Secret(text(bytes))) else { return false }
        let parts = text(bytes).split(separator: ".", omittingEmptySubsequences: false)
        try same(TestIssuer.base64URL(token.signature), String(parts[2]), bytes)
        return true
    }

    /// About the years 1729 to 2273.
    static let exactYears = Date(timeIntervalSinceReferenceDate: -8.58e9)...Date(timeIntervalSinceReferenceDate: 8.58e9)

    private static let time = Parser(
        name: "time",
        seeds: [
            "2026-02-28T23:59:59.123Z", "2024-02-29T00:00:00+05:30", "0001-01-01T00:00:00Z", "9999-12-31T23:59:60Z",
        ]
    ) { bytes in
        guard let date = RFC3339.parse(text(bytes)) else { return false }
        // Outside these years, `Date` cannot represent each millisecond, and times are rounded.
        guard exactYears.contains(date) else { return true }
        let written = RFC3339.format(date)
        try same(RFC3339.parse(written).map { RFC3339.format($0) }, written, bytes)
        return true
    }

    private static let identifiers = Parser(
        name: "ids",
        seeds: [
            "a-1", "..", "com.example.food", "5d1c0a9e", "é", "prc_0aB1cD2eF3gH", String(repeating: "x", count: 128),
        ]
    ) { bytes in
        let text = text(bytes)
        let read: [String] = [
            try? ActivityID(text).rawValue.string, try? InstallationID(text).rawValue.string,
            try? BundleID(text).rawValue, try? AttributesType(text).rawValue.string, try? APIKeyID(text).rawValue,
            try? Alias(kind: "orderId", value: text).value.string, try? Alias(kind: text, value: "x").kind.string,
        ].compactMap(\.self)
        for id in read { try same(id, text, bytes) }
        _ = RequestID.choose(text)
        return !read.isEmpty
    }

    private static let media = Parser(
        name: "media type",
        seeds: ["application/json; charset=\"utf-8\"", "application/x-ndjson;q=0.5, */*", ";;=", "text/plain"]
    ) { bytes in
        let type = MediaType(text(bytes))
        _ = AcceptField.prefersLines([.accept: text(bytes)])
        _ = LoopbackHost.matches(text(bytes))
        return type.isJSON
    }

    private static let addresses = Parser(
        name: "address",
        seeds: ["127.0.0.1", "::ffff:10.0.0.1", "fd00::1/64", "10.0.0.0/8", "2001:db8::1, 10.1.2.3", "[::1]:8080"]
    ) { bytes in
        let text = text(bytes)
        _ = AddressRange(text)
        _ = try? KeySetURL(text, allowsInternal: false)
        guard let address = IPAddress(text) else { return false }
        try same(IPAddress("\(address)"), address, bytes)
        return true
    }

    /// Half are mutated seeds, a tenth are random bytes, and the rest are combined pieces of seeds.
    private static func input(_ seeds: [[UInt8]], _ random: inout SeededGenerator) -> [UInt8] {
        let (left, right) = (seeds.randomElement(using: &random) ?? [], seeds.randomElement(using: &random) ?? [])
        switch Int.random(in: 0..<10, using: &random) {
        case 0: return (0..<Int.random(in: 0..<40, using: &random)).map { _ in random.byte() }
        case 1...3:
            let head = left.prefix(Int.random(in: 0...left.count, using: &random))
            return Array(head + right.suffix(Int.random(in: 0...right.count, using: &random)))
        case 4: return left
        default:
            var bytes = left
            for _ in 0...Int.random(in: 0..<4, using: &random) { random.mutate(&bytes) }
            return bytes
        }
    }

    @Test(arguments: parsers) func `Parsers survive mutated input`(parser: Parser) throws {
        let index = Self.parsers.firstIndex { $0.name == parser.name } ?? 0
        var random = SeededGenerator(seed: UInt64(index + 1))
        let seeds = parser.seeds.map { Array($0.utf8) }
        let count = Self.executions / Self.parsers.count + 1
        var accepted = 0
        for _ in 0..<count where try parser.check(Self.input(seeds, &random)) { accepted += 1 }
        // Both accepted and refused inputs must occur.
        #expect(accepted > 0 && accepted < count, "\(accepted) of \(count)")
        print("figure: parser of \(parser.name): \(count) inputs, \(accepted) accepted, the rest refused")
    }
}
