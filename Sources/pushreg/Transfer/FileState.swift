import Foundation

/// The signs by which a file is told from what it was, or will be.
struct FileState: Sendable, Hashable {
    let size: Int
    /// Microseconds since the reference date.
    let modified: Int

    init(size: Int, modified: Int) {
        self.size = size
        self.modified = modified
    }

    /// - Returns: nil where it is no file that can be read again.
    init?(_ path: String) {
        let place = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: place),
            attributes[.type] as? FileAttributeType == .typeRegular, let size = attributes[.size] as? Int,
            let modified = attributes[.modificationDate] as? Date
        else { return nil }
        self.init(size: size, modified: Int(modified.timeIntervalSinceReferenceDate * 1_000_000))
    }
}
