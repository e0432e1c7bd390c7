import Foundation

package enum ProjectFiles {
    package static let root = URL(fileURLWithPath: #filePath).appendingPathComponent("../../..").standardizedFileURL

    /// The texts of the Swift files in a folder, by their paths in the folder.
    package static func texts(in folder: String) throws -> [(path: String, text: String)] {
        let folder = root.appendingPathComponent(folder)
        let paths = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        return try paths.filter { $0.hasSuffix(".swift") }
            .map { ($0, try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8)) }
    }
}
