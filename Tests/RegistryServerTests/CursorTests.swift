import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

@Suite struct CursorTests {
    private let alias = Alias.sample("userId", "u-7")
    private let scope = Self.scope("com.example.food", .sandbox)

    private static func scope(_ bundleID: String, _ environment: APNSEnvironment) -> Scope {
        Scope(app: .sample(bundleID), environment: environment)
    }

    private func encode(_ number: Int64) -> String {
        ListPosition(number: number).cursor(of: alias.list("activities"), in: scope)
    }

    private func decode(_ text: String, of alias: Alias? = nil, in scope: Scope? = nil) throws -> Int64 {
        let list = (alias ?? self.alias).list("activities")
        return try ListPosition(cursor: text, of: list, in: scope ?? self.scope, "this alias").number
    }

    private func isRefused(_ text: String, of alias: Alias? = nil, in scope: Scope? = nil) -> Bool {
        (try? decode(text, of: alias, in: scope)) == nil
    }

    @Test(arguments: [0, 1, 42, 1 << 40, Int64.max]) func `A cursor survives a round trip`(_ number: Int64) throws {
        let text = encode(number)
        #expect(try decode(text) == number)
        #expect(text.wholeMatch(of: /[A-Za-z0-9_-]+/) != nil)
    }

    @Test func `Every altered character of a cursor is detected`() {
        let text = Array(encode(1234).utf8)
        for position in text.indices {
            for replacement in "AZaz09-_=+/ ".utf8 where replacement != text[position] {
                var altered = text
                altered[position] = replacement
                #expect(isRefused(String(decoding: altered, as: UTF8.self)))
            }
        }
    }

    @Test func `A text that is not a cursor, or a cursor of another length, is detected`() {
        let text = encode(7)
        for other in [
            "", "x", "MTAw", "====", "null", String(repeating: "A", count: 34), String(repeating: "A", count: 4096),
            text + "=", text + "A", String(text.dropLast()), " " + text,
        ] { #expect(isRefused(other), "\(other)") }
    }

    @Test func `A cursor is valid only for its alias`() {
        let text = encode(7)
        #expect(isRefused(text, of: .sample("userId", "u-8")) && isRefused(text, of: .sample("userid", "u-7")))
        #expect(isRefused(text, in: Self.scope("com.example.food", .production)))
        #expect(isRefused(text, in: Self.scope("com.example.foo", .sandbox)))
    }
}
