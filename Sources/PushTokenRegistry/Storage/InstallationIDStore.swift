import Foundation

#if canImport(Security)
    import Security
#endif

/// Keeps the installation id: 128 random bits in lower-case hex (C17).
package protocol InstallationIDStore: Sendable {
    /// Nil without an id. Throws while the store is locked, for example before the first unlock of the phone.
    func read() throws -> String?
    /// Keeps an id, unless the store has one.
    func keep(_ id: String) throws
}

/// The phone is locked, or the keychain failed with a status.
package struct Locked: Error {
    let status: Int32?
    package init(_ status: Int32? = nil) { self.status = status }
}

extension InstallationIDStore {
    /// The id of this install, made if the store is empty. It throws while the store is locked, because a second id would be another
    /// installation (C17).
    func current() throws -> (id: String, isFormer: Bool) {
        if let id = try read() { return (id, true) }
        let halves = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
        try keep(String(format: "%016llx%016llx", halves.0, halves.1))
        guard let id = try read() else { throw Locked() }
        return (id, false)
    }
}

/// The keychain of this device only: a backup must not take the id to another phone.
package struct Keychain: InstallationIDStore {
    #if canImport(Security)
        private static var item: [CFString: Any] {
            [
                kSecClass: kSecClassGenericPassword, kSecAttrService: "push-token-registry",
                kSecAttrAccount: "installation-id", kSecUseDataProtectionKeychain: true,
            ]
        }

        /// Only a definite "not found" counts as none. Any other failure may be the lock.
        package func read() throws -> String? {
            var result: CFTypeRef?
            let query = Self.item.merging([kSecReturnData: true]) { $1 }
            let status = SecItemCopyMatching(query as CFDictionary, &result)
            if let bytes = result as? Data { return String(decoding: bytes, as: UTF8.self) }
            if status == errSecItemNotFound { return nil }
            throw Locked(status == errSecInteractionNotAllowed ? nil : status)
        }

        package func keep(_ id: String) throws {
            let values: [CFString: Any] = [
                kSecValueData: Data(id.utf8), kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            ]
            let status = SecItemAdd(Self.item.merging(values) { $1 } as CFDictionary, nil)
            guard status == errSecSuccess || status == errSecDuplicateItem else { throw Locked(status) }
        }
    #else
        // Without a keychain nothing is sent.
        package func read() throws -> String? { throw Locked() }
        package func keep(_ id: String) throws {}
    #endif
}
