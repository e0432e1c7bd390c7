import Crypto
import Foundation
import RegistryCore
import RegistryStore

extension ListPosition {
    private static let version: UInt8 = 1

    /// The cursor of the next page, opaque to callers.
    ///
    /// Base64url of a version byte, eight bytes of a hash over the scope and the names of the list, the position, and a
    /// checksum. Detects altered cursors and cursors of other lists. Not secret.
    ///
    /// - Parameter list: Identifies the list, including its filters.
    func cursor(of list: [String], in scope: Scope) -> String {
        let names = [scope.app.bundleID.rawValue, scope.environment.rawValue] + list
        var bytes = [Self.version] + SHA256.hash(data: Data(names.joined(separator: "\0").utf8)).prefix(8)
        bytes += [UInt8(part)] + withUnsafeBytes(of: number.bigEndian) { Array($0) } + rest
        bytes += SHA256.hash(data: bytes).prefix(8)
        return Base64URL.encode(bytes)
    }

    /// - Parameter title: Names the list in the fault.
    init(cursor: String, of list: [String], in scope: Scope, _ title: String) throws(JSONFaultReason) {
        let position = (Base64URL.decode(cursor) ?? Data()).dropFirst(9).dropLast(8)
        self.init(
            part: position.first.map(Int.init) ?? 0,
            number: position.dropFirst().prefix(8).reduce(0) { $0 << 8 | Int64($1) },
            rest: Array(position.dropFirst(9))
        )
        // Encoding again checks the version, the list, the checksum and canonical base64.
        guard number >= 0, self.cursor(of: list, in: scope) == cursor else {
            throw JSONFaultReason("is not a cursor of \(title)")
        }
    }
}

extension Alias {
    func list(_ name: String) -> [String] { [name, kind.string, value.string] }
}
