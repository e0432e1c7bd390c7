import Foundation
import RegistryCore

/// The file beside one that is imported, which says how far an interrupted import of it has come.
struct ProgressFile {
    let path: String

    /// - Throws: a ``CommandFailure`` when something else has its place, which must not be lost.
    init(beside imported: String) throws(CommandFailure) {
        path = imported + ".imported"
        guard FileManager.default.fileExists(atPath: path) else { return }
        guard let text = try? String(contentsOfFile: path, encoding: .utf8), let json = try? JSONParser.parse(text),
            json["line"] != nil, json["offset"] != nil
        else {
            throw CommandFailure(
                .usage,
                "\(path) is there, and says nothing of an import. Move it elsewhere: an import keeps its progress in that place."
            )
        }
    }

    /// Keeps a progress, whole or not at all.
    ///
    /// - Returns: false when it could not be written; then the import can only begin anew.
    func keep(_ progress: ImportProgress) -> Bool {
        (try? Data(progress.jsonBytes).write(to: URL(fileURLWithPath: path), options: .atomic)) != nil
    }

    /// Removes it: all is done.
    func remove() { unlink(path) }
}
