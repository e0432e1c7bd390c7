import Foundation
import RegistryCore
import RegistryStore

/// The progress of an interrupted import, in a file next to the imported file.
struct ImportProgress: Codable, Equatable {
    /// The app and environment, with the app's id and creation time, which differ between databases.
    let scope: String
    /// The size of the imported file, in bytes.
    let size: Int
    /// When that file was changed, in microseconds since 2001-01-01 (Foundation's reference date).
    let modified: Int
    /// All earlier lines are done: their number, and the byte position of the next one.
    var line = 0
    var offset = 0
    /// How many of these lines were malformed.
    var faulty = 0

    /// Nil unless the path is a regular file. Others cannot be read again.
    init?(_ scope: Scope, _ path: String) {
        let place = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: place),
            attributes[.type] as? FileAttributeType == .typeRegular, let size = attributes[.size] as? Int,
            let modified = attributes[.modificationDate] as? Date
        else { return nil }
        let createdAt = RFC3339.format(scope.app.createdAt, precision: .microseconds)
        self.scope = "\(scope.app.bundleID)/\(scope.environment.rawValue)/\(scope.app.id)/\(createdAt)"
        self.size = size
        self.modified = Int(modified.timeIntervalSinceReferenceDate * 1_000_000)
    }

    /// The stored progress of the same import, of which this is the beginning.
    ///
    /// - Throws: A ``CommandFailure`` if another file has this name, because it must not be overwritten.
    func stored(at path: String) throws(CommandFailure) -> ImportProgress? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        guard let data = FileManager.default.contents(atPath: path),
            let stored = try? JSONDecoder().decode(ImportProgress.self, from: data)
        else {
            throw CommandFailure(
                .usage,
                "\(path) exists and is not the progress of an import. Move it, because an import keeps its progress there."
            )
        }
        var beginning = stored
        (beginning.line, beginning.offset, beginning.faulty) = (0, 0, 0)
        return beginning == self ? stored : nil
    }

    /// Writes atomically.
    ///
    /// - Returns: False if the write failed. An interrupted import then starts again.
    func write(to path: String) -> Bool {
        (try? JSONEncoder().encode(self).write(to: URL(fileURLWithPath: path), options: .atomic)) != nil
    }
}
