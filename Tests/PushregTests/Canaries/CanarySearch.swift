import Foundation
import RegistryCore

struct CanarySearch {
    /// A part of a canary counts if it has this length and is at the canary's beginning or end.
    private static let length = 20
    private var needles: Set<[UInt8]> = []

    mutating func add(_ secret: String) {
        let bytes = Array(secret.lowercased().utf8)
        needles.insert(Array(bytes.prefix(Self.length)))
        needles.insert(Array(bytes.suffix(Self.length)))
    }

    func count(in text: String) -> Int {
        let bytes = text.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        var (count, start) = (0, 0)
        for (index, byte) in bytes.enumerated() {
            guard (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte) else {
                start = index + 1
                continue
            }
            let first = index + 1 - Self.length
            if first >= start, needles.contains(Array(bytes[first...index])) { count += 1 }
        }
        return count
    }

    /// Finds bytes printed as Swift prints an array.
    static func holdsByteArray(_ text: String) -> Bool { text.firstMatch(of: /(?:\d{1,3}, ){7}/) != nil }
}

/// One secret of each kind, all with the same number.
struct Canary {
    let token: String
    let key: String
    let installation: String

    init() {
        token = (0..<5).map { _ in Self.hex() }.joined()
        key = APIKey(random: .client).text.revealed
        installation = Self.hex()
    }

    private static func hex() -> String { UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased() }

    /// The texts that must not appear. A key's id is public.
    var secrets: [String] { [token, String(key.dropFirst(APIKeyID.publicLength)), installation] }
}

extension APIKeyID {
    /// The prefix, the id and the underscore.
    fileprivate static let publicLength = 17
}
