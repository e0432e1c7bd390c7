import Foundation

/// A file, written atomically, with a lock beside it that holds between processes (C11).
///
/// On Apple's platforms it is readable from the first unlock on, and in no backup: a restored phone must not send what
/// another one observed.
public struct FileStorage: ReportStorage {
    private let file: URL

    /// Keeps the reports in a file, whose folder is made when it is not there.
    public init(file: URL) { self.file = file }

    /// The file of an app in its Application Support, or in the container of an App Group.
    ///
    /// - Parameter appGroup: the group that the app's extensions share; nil when none reports activities.
    public init(appGroup: String? = nil) {
        let files = FileManager.default
        var folder = files.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
        #if canImport(Darwin)
            if let appGroup { folder = files.containerURL(forSecurityApplicationGroupIdentifier: appGroup) ?? folder }
        #endif
        let name = "push-token-registry/reports.json"
        self.init(file: (folder ?? files.temporaryDirectory).appendingPathComponent(name))
    }

    /// Reads, asks, and writes, while no other process does.
    public func change(_ decide: (StoredContent) -> StorageChange) -> Bool {
        guard (try? makeFolder()) != nil, let lock = FileLock(file.appendingPathExtension("lock")) else {
            _ = decide(.unreadable)
            return false
        }
        defer { lock.release() }
        switch decide(content()) {
        case .keep: return true
        case .replace(let bytes): return write(bytes)
        case .setAside(let bytes): return setAside() && write(bytes)
        }
    }

    private func content() -> StoredContent {
        do {
            return .bytes(try Data(contentsOf: file))
        } catch CocoaError.fileReadNoSuchFile {
            return .none
        } catch {
            return .unreadable
        }
    }

    /// All that is in the folder stays out of backups, for an atomic write makes a new file each time.
    private func makeFolder() throws {
        let folder = file.deletingLastPathComponent()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        #if canImport(Darwin)
            var (excluded, values) = (folder, URLResourceValues())
            values.isExcludedFromBackup = true
            try excluded.setResourceValues(values)
        #endif
    }

    private func write(_ bytes: Data) -> Bool {
        #if canImport(Darwin)
            let options: Data.WritingOptions = [.atomic, .completeFileProtectionUntilFirstUserAuthentication]
        #else
            let options: Data.WritingOptions = .atomic
        #endif
        return (try? bytes.write(to: file, options: options)) != nil
    }

    /// The one that was set aside before goes: it is for people to look at, and must not fill the phone.
    private func setAside() -> Bool {
        let other = file.deletingPathExtension().appendingPathExtension("unknown.json")
        try? FileManager.default.removeItem(at: other)
        return (try? FileManager.default.moveItem(at: file, to: other)) != nil
    }
}
