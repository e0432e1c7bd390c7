import Foundation
import RegistryCore
import RegistryStore
import Testing

@testable import RegistryServer

@Suite struct CursorTests {
    private let alias: Alias
    private let scope: Scope

    init() throws {
        alias = try Alias(kind: "userId", value: "u-7")
        scope = Self.scope("com.example.food", .sandbox)
    }

    private static func scope(_ bundleID: String, _ environment: APNSEnvironment) -> Scope {
        Scope(app: .sample(bundleID), environment: environment)
    }

    private static func text(_ number: Int64, _ alias: Alias, _ scope: Scope) -> String {
        Cursor(number: number).text(of: alias.list("activities"), in: scope)
    }

    private static func number(_ text: String, _ alias: Alias, _ scope: Scope) throws(JSONFaultReason) -> Int64 {
        try Cursor(text, of: alias.list("activities"), in: scope, "this alias").number
    }

    @Test(arguments: [0, 1, 42, 1 << 40, Int64.max]) func `A cursor survives a round trip`(_ number: Int64) throws {
        let text = Self.text(number, alias, scope)
        #expect(try Self.number(text, alias, scope) == number)
        #expect(text.utf8.allSatisfy { $0.isUnreserved })
    }

    @Test func `Every altered character of a cursor is detected`() {
        let text = Array(Self.text(1234, alias, scope).utf8)
        for position in text.indices {
            for replacement in "AZaz09-_=+/ ".utf8 where replacement != text[position] {
                var altered = text
                altered[position] = replacement
                let string = String(decoding: altered, as: UTF8.self)
                #expect(throws: JSONFaultReason.self) { try Self.number(string, alias, scope) }
            }
        }
    }

    @Test(arguments: [
        "", "x", "MTAw", "====", "null", String(repeating: "A", count: 34), String(repeating: "A", count: 4096),
    ])
    func `A text that is not a cursor is detected`(_ text: String) {
        #expect(throws: JSONFaultReason.self) { try Self.number(text, alias, scope) }
    }

    @Test func `A cursor of another length is detected`() {
        let text = Self.text(7, alias, scope)
        for other in [text + "=", text + "A", String(text.dropLast()), " " + text] {
            #expect(throws: JSONFaultReason.self) { try Self.number(other, alias, scope) }
        }
    }

    @Test func `A cursor is valid only for its alias`() throws {
        let text = Self.text(7, alias, scope)
        let others = [
            (try Alias(kind: "userId", value: "u-8"), scope), (try Alias(kind: "userid", value: "u-7"), scope),
            (alias, Self.scope("com.example.food", .production)),
            (alias, Self.scope("com.example.foo", .sandbox)),
        ]
        for (alias, scope) in others {
            #expect(throws: JSONFaultReason.self) { try Self.number(text, alias, scope) }
        }
    }
}

extension UInt8 {
    fileprivate var isUnreserved: Bool {
        let character = Character(Unicode.Scalar(self))
        return character.isASCII && (character.isLetter || character.isNumber || character == "-" || character == "_")
    }
}
