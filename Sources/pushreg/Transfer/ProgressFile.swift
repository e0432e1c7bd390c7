import Foundation
import RegistryCore

struct ProgressFile {
    let path: String

    /// - Throws: A ``CommandFailure`` if another file has this name, because it must not be overwritten.
    init(beside imported: String) throws(CommandFailure) {
        path = imported + ".imported"
        guard FileManager.default.fileExists(atPath: path) else { return }
        guard let text = try? String(contentsOfFile: path, encoding: .utf8), let json = try? JSONParser.parse(text),
            json["line"] != nil, json["offset"] != nil
        else {
            throw CommandFailure(
                .usage,
                "\(path) exists and is not the progress of an import. Move it, because an import keeps its progress there."
            )
        }
    }

    /// Writes atomically.
    ///
    /// - Returns: False if the write failed. An interrupted import then starts again.
    func keep(_ progress: ImportProgress) -> Bool {
        (try? Data(progress.jsonBytes).write(to: URL(fileURLWithPath: path), options: .atomic)) != nil
    }

    func remove() { unlink(path) }
}
