import Foundation

#if canImport(Security)
    import Security
#endif

/// Keeps the installation id: 128 random bits in lower-case hex (C17).
package protocol InstallationIDStore: Sendable {
    func read() -> Stored<String>
    /// Keeps an id, unless the store has one.
    func keep(_ id: String)
}

/// The content of a store. It is locked, for example, before the first unlock of the phone.
package enum Stored<Value: Sendable & Hashable>: Sendable, Hashable {
    case none
    case locked
    case value(Value)
}

extension InstallationIDStore {
    /// The id of this install, made if the store is empty; nil while the store is locked, because a second id would be
    /// another installation (C17).
    ///
    /// - Parameter random: returns 64 random bits.
    func current(random: () -> UInt64) -> (id: String?, isFormer: Bool) {
        if case .value(let id) = read() { return (id, true) }
        if case .none = read() { keep(String(format: "%016llx%016llx", random(), random())) }
        guard case .value(let id) = read() else { return (nil, false) }
        return (id, false)
    }
}

/// The keychain of this device only: a backup must not take the id to another phone.
package struct Keychain: InstallationIDStore {
    #if canImport(Security)
        private static let item: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrService: "push-token-registry",
            kSecAttrAccount: "installation-id", kSecUseDataProtectionKeychain: true,
        ]

        /// Only a definite "not found" counts as none. Any other failure may be the lock.
        package func read() -> Stored<String> {
            var result: CFTypeRef?
            let query = Self.item.merging([kSecReturnData: true]) { $1 }
            let status = SecItemCopyMatching(query as CFDictionary, &result)
            if let bytes = result as? Data { return .value(String(decoding: bytes, as: UTF8.self)) }
            return status == errSecItemNotFound ? .none : .locked
        }

        package func keep(_ id: String) {
            let values: [CFString: Any] = [
                kSecValueData: Data(id.utf8), kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            ]
            SecItemAdd(Self.item.merging(values) { $1 } as CFDictionary, nil)
        }
    #else
        // Without a keychain nothing is sent.
        package func read() -> Stored<String> { .locked }
        package func keep(_ id: String) {}
    #endif
}
