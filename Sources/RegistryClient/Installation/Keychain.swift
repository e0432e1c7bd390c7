#if canImport(Security)
    import Foundation
    import Security

    /// The keychain of this device alone: no backup takes the id to another phone, where it would be a clone.
    public struct Keychain: SecretStore {
        private let service: String
        private let accessGroup: String?

        /// - Parameter accessGroup: shared with the app's extensions; nil for the app's own.
        public init(service: String = "push-token-registry", accessGroup: String? = nil) {
            (self.service, self.accessGroup) = (service, accessGroup)
        }

        private var item: [CFString: Any] {
            var item: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: "installation-id",
                kSecUseDataProtectionKeychain: true,
            ]
            item[kSecAttrAccessGroup] = accessGroup
            return item
        }

        /// Reads the secret. Only a clear "there is none" counts as none: any other failure may be the lock.
        public func read() -> StoredSecret {
            var result: CFTypeRef?
            let query = item.merging([kSecReturnData: true, kSecMatchLimit: kSecMatchLimitOne]) { $1 }
            switch SecItemCopyMatching(query as CFDictionary, &result) {
            case errSecSuccess:
                guard let bytes = result as? Data, let text = String(data: bytes, encoding: .utf8) else {
                    return .locked
                }
                return .secret(text)
            case errSecItemNotFound: return .none
            default: return .locked
            }
        }

        /// Adds the secret; the first one that was added stays.
        public func keep(_ secret: String) -> String? {
            let values: [CFString: Any] = [
                kSecValueData: Data(secret.utf8), kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            ]
            SecItemAdd(item.merging(values) { $1 } as CFDictionary, nil)
            guard case .secret(let kept) = read() else { return nil }
            return kept
        }
    }
#endif
