import Foundation

extension SHA256 {
    /// The digest as CryptoKit returns it: a sequence of bytes.
    public static func hash(data: Data) -> [UInt8] { digest(of: Array(data)) }
}
