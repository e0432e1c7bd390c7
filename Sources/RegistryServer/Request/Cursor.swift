import Crypto
import Foundation
import RegistryCore
import RegistryStore

/// The position of the next page, opaque to callers.
///
/// Base64url of a version byte, eight bytes of a hash over the scope and the names of the list, the position, and a
/// checksum. Detects altered cursors and cursors of other lists. Not secret.
struct Cursor: Sendable {
    /// A part of the list, such as a kind of token, up to 255.
    var part = 0
    var number: Int64 = 0
    /// The rest of a position that is not only a number.
    var rest: [UInt8] = []

    private static let version: UInt8 = 1

    /// - Parameter list: Identifies the list, including its filters.
    func text(of list: [String], in scope: Scope) -> String {
        let names = [scope.app.bundleID.rawValue, scope.environment.rawValue] + list
        var bytes = [Self.version] + SHA256.hash(data: Data(names.joined(separator: "\0").utf8)).prefix(8)
        bytes += [UInt8(part)] + withUnsafeBytes(of: number.bigEndian) { Array($0) } + rest
        bytes += SHA256.hash(data: bytes).prefix(8)
        return Base64URL.encode(bytes)
    }
}

extension Cursor {
    /// - Parameter title: Names the list in the fault.
    init(_ text: String, of list: [String], in scope: Scope, _ title: String) throws(JSONFaultReason) {
        let position = (Base64URL.decode(text) ?? Data()).dropFirst(9).dropLast(8)
        part = position.first.map(Int.init) ?? 0
        number = position.dropFirst().prefix(8).reduce(0) { $0 << 8 | Int64($1) }
        rest = Array(position.dropFirst(9))
        // Encoding again checks the version, the list, the checksum and canonical base64.
        guard number >= 0, self.text(of: list, in: scope) == text else {
            throw JSONFaultReason("is not a cursor of \(title)")
        }
    }
}

extension Alias {
    func list(_ name: String) -> [String] { [name, kind.string, value.string] }
}

extension TokenPosition {
    var cursor: Cursor { Cursor(rest: installation + Array(type.string.utf8)) }

    /// Nil unless the cursor has 32 bytes of hash, optionally followed by an attributes type.
    init?(_ cursor: Cursor) {
        guard cursor.rest.count >= 32, let type = String(validating: cursor.rest[32...], as: UTF8.self) else {
            return nil
        }
        self.init(installation: Array(cursor.rest[..<32]), type: UTF8Text(type))
    }
}

extension PlanPosition {
    var cursor: Cursor {
        switch self {
        case .activity(let number): Cursor(number: number)
        case .installation(let hash, let number): Cursor(number: number, rest: hash)
        }
    }

    init(_ cursor: Cursor) {
        self =
            cursor.rest.isEmpty
            ? .activity(cursor.number) : .installation(cursor.rest, afterActivity: cursor.number)
    }
}
