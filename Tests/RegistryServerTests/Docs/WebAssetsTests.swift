import Foundation
import TestSupport
import Testing
import WebAssets

@Suite struct WebAssetsTests {
    private static let folder = ProjectFiles.root.appendingPathComponent("Sources/WebAssets")
    private static let folders = ["Console", "Docs", "Shared"]

    @Test func `The program contains every file unchanged`() throws {
        let paths = try Self.folders.flatMap { name in
            try FileManager.default.contentsOfDirectory(atPath: Self.folder.appendingPathComponent(name).path)
                .map { "\(name)/\($0)" }
        }
        let others = ["Documentation.docc/ErrorCodes.md", "openapi.json"]
        #expect(WebAssets.files.keys.sorted() == (paths + others).sorted())
        for (path, bytes) in WebAssets.files {
            #expect(try Data(contentsOf: Self.folder.appendingPathComponent(path)) == Data(bytes), "\(path)")
        }
    }
}
