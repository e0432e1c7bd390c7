import Foundation

enum ProjectFiles {
    private static let root = URL(fileURLWithPath: #filePath).appendingPathComponent("../../..").standardizedFileURL

    /// The texts of the files in a folder, by their paths in the folder.
    static func texts(
        in folder: String,
        _ kinds: some Collection<String> = ["swift"]
    ) throws -> [(path: String, text: String)] {
        let folder = root.appendingPathComponent(folder)
        let paths = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        return try paths.filter { kinds.contains(URL(fileURLWithPath: $0).pathExtension) }
            .map { ($0, try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8)) }
    }
}
