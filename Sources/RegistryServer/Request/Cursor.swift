import Crypto
import Foundation
import RegistryCore
import RegistryStore

/// The position of the next page, opaque to callers.
///
/// Base64url of a version byte, eight bytes of a hash over the scope and the names of the list, the position, and a
/// checksum. Detects altered cursors and cursors of other lists. Not secret.
enum Cursor {
    private static let version: UInt8 = 1

    static func encode(after number: Int64, of alias: Alias, in scope: Scope) -> String {
        encode(bytes(of: number), names(of: alias), scope)
    }

    static func decode(_ text: String, of alias: Alias, in scope: Scope) throws(JSONFaultReason) -> Int64 {
        try decode(text, names(of: alias), scope, "this alias") { bytes in
            bytes.count == 8 && bytes[0] < 0x80 ? number(bytes) : nil
        }
    }

    static func encode(after position: TokenPosition, of kind: TokenKind, under alias: Alias, in scope: Scope) -> String
    {
        encode(position.installation + Array(position.type.string.utf8), names(of: alias) + [kind.name], scope)
    }

    static func decode(
        _ text: String,
        of kind: TokenKind,
        under alias: Alias,
        in scope: Scope
    ) throws(JSONFaultReason) -> TokenPosition {
        try decode(text, names(of: alias) + [kind.name], scope, "this alias") { bytes in
            // 32 bytes of hash, optionally followed by an attributes type.
            guard bytes.count >= 32, let type = String(validating: bytes[32...], as: UTF8.self) else { return nil }
            return TokenPosition(installation: Array(bytes[..<32]), type: UTF8Text(type))
        }
    }

    /// - Parameters:
    ///   - part: A part of the list, such as a kind of token, up to 255.
    ///   - list: Identifies the list, including its filters.
    static func encode(after number: Int64, part: Int = 0, of list: [String], in scope: Scope) -> String {
        encode([UInt8(part)] + bytes(of: number), ["audit"] + list, scope)
    }

    static func decode(
        _ text: String,
        of list: [String],
        in scope: Scope
    ) throws(JSONFaultReason) -> (part: Int, number: Int64) {
        try decode(text, ["audit"] + list, scope, "this list with these filters") { bytes in
            bytes.count == 9 ? (Int(bytes[0]), number(bytes[1...])) : nil
        }
    }

    static func encode(after position: PlanPosition, of request: PlanRequest, in scope: Scope) -> String {
        switch position {
        case .activity(let number): encode([0] + bytes(of: number), names(of: request), scope)
        case .installation(let hash, let number): encode([1] + bytes(of: number) + hash, names(of: request), scope)
        }
    }

    static func decode(_ text: String, of request: PlanRequest, in scope: Scope) throws(JSONFaultReason) -> PlanPosition
    {
        try decode(text, names(of: request), scope, "a plan for this alias and these recipients") { bytes in
            switch (bytes[0], bytes.count) {
            case (0, 9): .activity(number(bytes[1...]))
            case (1, 41): .installation(Array(bytes[9...]), afterActivity: number(bytes[1..<9]))
            default: nil
            }
        }
    }

    private static func names(of alias: Alias) -> [String] { [alias.kind.string, alias.value.string] }

    private static func names(of request: PlanRequest) -> [String] {
        ["audit", "plan"] + ([request.alias] + request.to).flatMap(names)
    }

    private static func bytes(of number: Int64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

    private static func number(_ bytes: some Sequence<UInt8>) -> Int64 { bytes.reduce(0) { $0 << 8 | Int64($1) } }

    private static func encode(_ position: [UInt8], _ list: [String], _ scope: Scope) -> String {
        let names = [scope.app.bundleID.rawValue, scope.environment.rawValue] + list
        var bytes = [version] + SHA256.hash(data: Data(names.joined(separator: "\0").utf8)).prefix(8) + position
        bytes += SHA256.hash(data: bytes).prefix(8)
        return Base64URL.encode(bytes)
    }

    private static func decode<Position>(
        _ text: String,
        _ list: [String],
        _ scope: Scope,
        _ name: String,
        _ read: ([UInt8]) -> Position?
    ) throws(JSONFaultReason) -> Position {
        // Encoding again checks the version, the list, the checksum and canonical base64.
        guard let bytes = Base64URL.decode(text), bytes.count > 17,
            case let position = Array(bytes.dropFirst(9).dropLast(8)), encode(position, list, scope) == text,
            let position = read(position)
        else { throw JSONFaultReason("is not a cursor of \(name)") }
        return position
    }
}
