import Foundation

#if canImport(Security)
    import Security
#endif

/// Keeps the installation id: 128 random bits in lower-case hex (C17).
package protocol InstallationIDStore: Sendable {
    func read() -> StoredInstallationID
    /// Keeps an id.
    ///
    /// - Returns: the id that is kept now, which is an earlier one if there was one; nil if none could be kept.
    func keep(_ id: String) -> String?
}

package enum StoredInstallationID: Sendable, Hashable {
    case none
    /// It cannot be read now, for example before the first unlock of the phone.
    case locked
    case id(String)
}

extension InstallationIDStore {
    /// The id of this install, made if the store is empty; nil while the store is locked, because a second id would be
    /// another installation (C17).
    ///
    /// - Parameter random: returns 64 random bits.
    package func current(random: () -> UInt64) -> (id: String?, isFormer: Bool) {
        switch read() {
        case .id(let id): (id, true)
        case .locked: (nil, false)
        case .none: (keep(String(format: "%016llx%016llx", random(), random())), false)
        }
    }
}

/// The keychain of this device only: a backup must not take the id to another phone.
package struct Keychain: InstallationIDStore {
    package init() {}

    #if canImport(Security)
        private static let item: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrService: "push-token-registry",
            kSecAttrAccount: "installation-id", kSecUseDataProtectionKeychain: true,
        ]

        /// Only a definite "not found" counts as none. Any other failure may be the lock.
        package func read() -> StoredInstallationID {
            var result: CFTypeRef?
            let query = Self.item.merging([kSecReturnData: true, kSecMatchLimit: kSecMatchLimitOne]) { $1 }
            switch SecItemCopyMatching(query as CFDictionary, &result) {
            case errSecSuccess:
                guard let bytes = result as? Data, let text = String(data: bytes, encoding: .utf8) else {
                    return .locked
                }
                return .id(text)
            case errSecItemNotFound: return .none
            default: return .locked
            }
        }

        /// The first id that was added stays.
        package func keep(_ id: String) -> String? {
            let values: [CFString: Any] = [
                kSecValueData: Data(id.utf8), kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            ]
            SecItemAdd(Self.item.merging(values) { $1 } as CFDictionary, nil)
            guard case .id(let kept) = read() else { return nil }
            return kept
        }
    #else
        // Without a keychain nothing is sent.
        package func read() -> StoredInstallationID { .locked }
        package func keep(_ id: String) -> String? { nil }
    #endif
}
