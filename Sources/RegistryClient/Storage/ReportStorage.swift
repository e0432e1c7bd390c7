import Foundation

/// The place where waiting reports outlive the app (C10, C11).
///
/// It is read and written in one step, under a lock, for an extension of the app may share it.
public protocol ReportStorage: Sendable {
    /// Shows the content to a closure, and changes it as the closure says.
    ///
    /// - Returns: whether what the closure said was done; false leaves all as it was.
    func change(_ decide: (StoredContent) -> StorageChange) -> Bool
}

/// The content of the storage.
public enum StoredContent: Sendable, Hashable {
    /// Nothing was ever stored.
    case none
    /// There may be something, and it cannot be read now: before the first unlock of the phone.
    case unreadable
    /// The bytes that were stored.
    case bytes(Data)
}

/// A change of the storage.
public enum StorageChange: Sendable, Hashable {
    /// All stays as it is.
    case keep
    /// The content is replaced, whole or not at all.
    case replace(Data)
    /// The content is kept under another name, for somebody to look at, and these bytes take its place.
    case setAside(Data)
}
