import Crypto
import Foundation
import RegistryCore
import RegistryStore

/// The position of the next page, opaque to callers.
///
/// Base64url of a version byte, eight bytes of a hash over scope, alias and list, the end of the page, and a checksum.
/// Detects altered cursors and cursors of other lists. Not secret.
enum Cursor {
    private static let version: UInt8 = 1

    static func encode(after number: Int64, of alias: Alias, in scope: Scope) -> String {
        encode(after: withUnsafeBytes(of: number.bigEndian) { Array($0) }, subject(alias, scope))
    }

    static func encode(after position: TokenPosition, of kind: TokenKind, under alias: Alias, in scope: Scope) -> String
    {
        encode(after: position.installation + Array(position.type.string.utf8), subject(alias, scope, list: kind.name))
    }

    private static func encode(after position: [UInt8], _ subject: [UInt8]) -> String {
        var bytes = [version] + subject + position
        bytes += SHA256.hash(data: bytes).prefix(8)
        return Base64URL.encode(bytes)
    }

    static func decode(_ text: String, of alias: Alias, in scope: Scope) throws(JSONFaultReason) -> Int64 {
        guard let bytes = Base64URL.decode(text), bytes.count == 25 else { throw fault }
        let number = bytes[9..<17].reduce(0) { $0 << 8 | Int64($1) }
        // Encoding again checks the version, subject, number, checksum and canonical base64.
        guard number >= 0, encode(after: number, of: alias, in: scope) == text else { throw fault }
        return number
    }

    static func decode(
        _ text: String,
        of kind: TokenKind,
        under alias: Alias,
        in scope: Scope
    ) throws(JSONFaultReason) -> TokenPosition {
        // 32 bytes of hash, optionally followed by an attributes type.
        guard let bytes = Base64URL.decode(text), bytes.count >= 49,
            let type = String(bytes: bytes[41..<(bytes.count - 8)], encoding: .utf8)
        else { throw fault }
        let position = TokenPosition(installation: Array(bytes[9..<41]), type: UTF8Text(type))
        guard encode(after: position, of: kind, under: alias, in: scope) == text else { throw fault }
        return position
    }

    /// - Parameters:
    ///   - part: A part of the list, such as a kind of token, up to 255.
    ///   - list: Identifies the list, including its filters.
    static func encode(after number: Int64, part: Int = 0, of list: [String], in scope: Scope) -> String {
        let position = [UInt8(part)] + withUnsafeBytes(of: number.bigEndian) { Array($0) }
        return encode(after: position, subject(list, scope))
    }

    static func decode(
        _ text: String,
        of list: [String],
        in scope: Scope
    ) throws(JSONFaultReason) -> (part: Int, number: Int64) {
        guard let bytes = Base64URL.decode(text), bytes.count == 26 else { throw listFault }
        let (part, number) = (Int(bytes[9]), bytes[10..<18].reduce(0) { $0 << 8 | Int64($1) })
        guard encode(after: number, part: part, of: list, in: scope) == text else { throw listFault }
        return (part, number)
    }

    static func encode(after position: PlanPosition, of request: PlanRequest, in scope: Scope) -> String {
        switch position {
        case .activity(let number): encode(after: [0] + bytes(of: number), subject(names(of: request), scope))
        case .installation(let hash, let number):
            encode(after: [1] + bytes(of: number) + hash, subject(names(of: request), scope))
        }
    }

    static func decode(_ text: String, of request: PlanRequest, in scope: Scope) throws(JSONFaultReason) -> PlanPosition
    {
        guard let bytes = Base64URL.decode(text), [26, 58].contains(bytes.count) else { throw planFault }
        let number = bytes[10..<18].reduce(0) { $0 << 8 | Int64($1) }
        let hash = Array(bytes[18..<(bytes.count - 8)])
        let position =
            bytes[9] == 0 ? PlanPosition.activity(number) : .installation(hash, afterActivity: number)
        guard encode(after: position, of: request, in: scope) == text else { throw planFault }
        return position
    }

    private static func names(of request: PlanRequest) -> [String] {
        ["plan"] + ([request.alias] + request.to).flatMap { [$0.kind.string, $0.value.string] }
    }

    private static func bytes(of number: Int64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

    private static var planFault: JSONFaultReason {
        JSONFaultReason("is not a cursor of a plan for this alias and these recipients")
    }

    private static var listFault: JSONFaultReason { JSONFaultReason("is not a cursor of this list with these filters") }

    private static func subject(_ list: [String], _ scope: Scope) -> [UInt8] {
        let names = [scope.app.bundleID.rawValue, scope.environment.rawValue, "audit"] + list
        return Array(SHA256.hash(data: Data(names.joined(separator: "\0").utf8)).prefix(8))
    }

    private static var fault: JSONFaultReason { JSONFaultReason("is not a cursor of this alias") }

    private static func subject(_ alias: Alias, _ scope: Scope, list: String? = nil) -> [UInt8] {
        let app = [scope.app.bundleID.rawValue, scope.environment.rawValue]
        let names = app + [alias.kind.string, alias.value.string] + (list.map { [$0] } ?? [])
        return Array(SHA256.hash(data: Data(names.joined(separator: "\0").utf8)).prefix(8))
    }
}
