import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

/// Seeded random and mutated bytes for every parser of external input: none may trap, and accepted input must survive a
/// round trip.
@Suite(.timeLimit(.minutes(60))) struct ParserFuzzTests {
    private static let executions = TestScale.isLong ? 10_000_000 : 100_000

    /// Parses an input. Returns whether it was accepted, and throws if a round trip changes it.
    struct Parser: Sendable, CustomTestStringConvertible {
        let name: String
        let seeds: [String]
        let check: @Sendable ([UInt8]) throws -> Bool
        var testDescription: String { name }
    }

    struct Mismatch: Error {
        let input: String
        let detail: String
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    static func same<Value: Equatable>(_ left: Value, _ right: Value, _ bytes: [UInt8]) throws {
        guard left == right else { throw Mismatch(input: "\(bytes)", detail: "\(left) does not equal \(right)") }
    }

    static let parsers: [Parser] =
        [
            token, cursor, key, path, json, jwt, time, duration, identifiers, aliases, media, addresses, bodies,
        ] + requestParsers

    private static let token = Parser(
        name: "token",
        seeds: ["0123456789abcdef", "ABCDEF00", "", String(repeating: "ab", count: 512)]
    ) { bytes in
        guard let token = try? PushToken(hexadecimal: text(bytes)) else { return false }
        try same(Hexadecimal.encode(token.bytes), text(bytes).lowercased(), bytes)
        return true
    }

    private static let scope = Scope(app: .sample(), environment: .sandbox)
    private static let alias = Alias.sample("orderId", "42")
    private static let cursor = Parser(
        name: "cursor",
        seeds: [0, 1, 255, 1 << 40, .max].map { Cursor(number: $0).text(of: alias.list("activities"), in: scope) }
    ) { bytes in
        let list = alias.list("activities")
        guard let cursor = try? Cursor(text(bytes), of: list, in: scope, "this alias") else { return false }
        try same(cursor.text(of: list, in: scope), text(bytes), bytes)
        return true
    }

    private static let key = Parser(
        name: "API key",
        seeds: Role.allCases.map { APIKey(random: $0).text.revealed }
    ) { bytes in
        guard let key = APIKey(Secret(text(bytes))) else { return false }
        try same(key.text.revealed, text(bytes), bytes)
        return true
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

    private static let json = Parser(
        name: "JSON",
        seeds: [
            #"{"token":"00ff","aliases":{"userId":["a","b"]},"startedAt":null,"n":-1.5e+7,"t":[true,false]}"#,
            #"[[[[]]],{"a":{"b":"\ud83d\ude00\n"}}]"#, String(repeating: "[", count: 40), "1e999", "\"é漢😀\"",
        ]
    ) { bytes in
        guard let value = try? JSONParser.parse(bytes) else { return false }
        // A number may change its form, but not its value.
        try same(JSONParser.parse(value.description).canonicalBytes, value.canonicalBytes, bytes)
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
    static let exactYears =
        Date(timeIntervalSinceReferenceDate: -8.58e9)...Date(timeIntervalSinceReferenceDate: 8.58e9)

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

    private static let duration = Parser(
        name: "duration",
        seeds: ["PT8H", "P7D", "P1DT2H3M4.5S", "PT0S", "P90D", "PT9223372036854775807S"]
    ) { bytes in
        guard let duration = ISO8601Duration.parse(text(bytes)) else { return false }
        try same(ISO8601Duration.parse(ISO8601Duration.format(duration)), duration, bytes)
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
        ].compactMap(\.self)
        for id in read { try same(id, text, bytes) }
        _ = RequestID.choose(text)
        return !read.isEmpty
    }

    private static let aliases = Parser(name: "alias", seeds: ["orderId", "userId", "a.b_c-d", "ü", "42", "."]) {
        bytes in
        let text = text(bytes)
        guard let alias = try? Alias(kind: "orderId", value: text) else { return false }
        try same(alias.value.string, text, bytes)
        _ = try? Alias(kind: text, value: "x")
        return true
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

    private static let bodies = Parser(
        name: "bodies",
        seeds: [
            #"{"token":"00","observedAt":"2026-01-01T00:00:00Z","aliases":{"userId":"u"},"metadata":{"a":1}}"#,
            #"{"observedAt":"2026-01-01T00:00:00Z","activities":[{"activityId":"a","token":"00"},{},7]}"#,
            #"{"reports":[{"token":"00","status":410,"reason":"Unregistered","timestamp":1795248000000}]}"#,
            #"{"aliases":[{"kind":"userId","value":"u"}],"limitPerAlias":5}"#,
            #"{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}],"issuer":"i","audience":"a","jwksUrl":"https://x/"}"#,
        ]
    ) { bytes in
        guard let value = try? JSONParser.parse(bytes) else { return false }
        var readers = (0..<4).map { _ in JSONReader(value) }
        let registration = ActivityRegistration(from: &readers[0])
        _ = FullStateBody.read(&readers[1])
        _ = ResolveBody.read(&readers[2])
        if case .object(let object) = value { _ = JWTRequirements(object) }
        return readers[0].faults.isEmpty && registration.token != nil
    }

    /// Half are mutated seeds, a tenth are random bytes, and the rest are combined pieces of seeds.
    private static func input(_ seeds: [[UInt8]], _ generator: inout FuzzGenerator) -> [UInt8] {
        switch generator.below(10) {
        case 0: return (0..<generator.below(40)).map { _ in generator.byte() }
        case 1...3:
            let (left, right) = (seeds[generator.below(seeds.count)], seeds[generator.below(seeds.count)])
            return Array(left.prefix(generator.below(left.count + 1)) + right.suffix(generator.below(right.count + 1)))
        case 4: return seeds[generator.below(seeds.count)]
        default:
            var bytes = seeds[generator.below(seeds.count)]
            for _ in 0...generator.below(4) { generator.mutate(&bytes) }
            return bytes
        }
    }

    @Test(arguments: parsers) func `Parsers survive mutated input`(parser: Parser) throws {
        let index = Self.parsers.firstIndex { $0.name == parser.name } ?? 0
        var generator = FuzzGenerator(seed: UInt64(index + 1))
        let seeds = parser.seeds.map { Array($0.utf8) }
        let count = Self.executions / Self.parsers.count + 1
        var accepted = 0
        for _ in 0..<count where try parser.check(Self.input(seeds, &generator)) { accepted += 1 }
        // Both accepted and refused inputs must occur.
        #expect(accepted > 0 && accepted < count, "\(accepted) of \(count)")
        print("figure: parser of \(parser.name): \(count) inputs, \(accepted) accepted, the rest refused")
    }

    @Test func `The fuzzer detects a wrong parser`() {
        #expect(throws: Mismatch.self) { try Self.same("a", "b", []) }
    }
}

/// A generator with the same bytes in every run.
struct FuzzGenerator {
    private var generator: SeededGenerator
    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }
    private static let telling =
        Array("\"\\{}[],:0123456789-+.eE%/?&=;TZPn \u{0}\u{1F}\u{7F}".utf8) + [0x80, 0xC3, 0xED, 0xEF, 0xF0, 0xFF]

    mutating func next() -> UInt64 { generator.next() }

    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(max(1, limit))) }

    mutating func byte() -> UInt8 {
        below(2) == 0 ? Self.telling[below(Self.telling.count)] : UInt8(truncatingIfNeeded: next())
    }

    mutating func mutate(_ bytes: inout [UInt8]) {
        let index = below(bytes.count + 1)
        switch below(6) {
        case 0 where index < bytes.count: bytes.remove(at: index)
        case 1 where index < bytes.count: bytes[index] = byte()
        case 2 where index < bytes.count: bytes[index] ^= 1 << UInt8(below(8))
        case 3: bytes.removeSubrange(index...)
        case 4: bytes.insert(contentsOf: bytes[..<index].suffix(8), at: index)
        default: bytes.insert(byte(), at: index)
        }
    }
}
