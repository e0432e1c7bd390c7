import Foundation

/// Keeps the reports that wait, so that they outlive the app (C10).
package protocol StateStorage: Sendable {
    /// Nil without a file. Throws while it is unreadable, for example before the first unlock of the phone.
    func read() throws -> Data?
    /// Replaces the content, whole or not at all.
    ///
    /// - Returns: whether it was written.
    func write(_ bytes: Data) -> Bool
    /// Renames the content, so that a person can read it.
    func setAside()
}

/// A file that is written atomically. It is readable from the first unlock on, and excluded from backups: a restored phone must not
/// send the reports of another one.
package struct FileStorage: StateStorage {
    private let file: URL

    /// - Parameter file: by default a file in the app's Application Support folder.
    package init(file: URL? = nil) {
        let folder = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)[0]
        self.file = file ?? folder.appendingPathComponent("push-token-registry/reports.json")
    }

    package func read() throws -> Data? {
        try makeFolder()
        do { return try Data(contentsOf: file) } catch CocoaError.fileReadNoSuchFile { return nil }
    }

    package func write(_ bytes: Data) -> Bool {
        let options: Data.WritingOptions = [.atomic, .completeFileProtectionUntilFirstUserAuthentication]
        // The app may have emptied its Application Support folder.
        return (try? makeFolder()) != nil && (try? bytes.write(to: file, options: options)) != nil
    }

    /// Deletes the file that was renamed before, so that they do not fill the phone.
    package func setAside() {
        let other = file.deletingPathExtension().appendingPathExtension("unknown.json")
        try? FileManager.default.removeItem(at: other)
        try? FileManager.default.moveItem(at: file, to: other)
    }

    /// The folder is excluded from backups, because each atomic write makes a new file.
    private func makeFolder() throws {
        var (folder, values) = (file.deletingLastPathComponent(), URLResourceValues())
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        values.isExcludedFromBackup = true
        try folder.setResourceValues(values)
    }
}

/// The state that is kept between launches, as versioned JSON.
package struct StoredState: Sendable, Hashable, Codable {
    /// A file of another version is set aside.
    static let version = 1

    private var version = Self.version
    package var clock = ObservationClock()
    /// The signed-in user: reports before the app signs them in again are theirs (C14).
    package var user: String?
    /// The phone's facts that were reported last.
    package var metadata: [String: String]?
    /// The registry may have a token of the app's widgets.
    package var hasWidgetToken = false
    package var outbox = Outbox()

    package init() {}

    /// Reads ``bytes``; nil if they are not JSON, or of another version.
    package init?(_ bytes: Data) {
        guard let state = try? JSONDecoder().decode(Self.self, from: bytes), state.version == Self.version else {
            return nil
        }
        self = state
    }

    package var bytes: Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Texts, integers and lists always encode.
        return (try? encoder.encode(self)) ?? Data()
    }
}
