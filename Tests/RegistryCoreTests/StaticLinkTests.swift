import Foundation
import Testing

/// `deploy/run`, the image and the package link Swift's libraries statically, with no more system packages than they install.
@Suite(.timeLimit(.minutes(15))) struct StaticLinkTests {
    @Test("URLSession, which wants libcurl, is left out of release builds on Linux") func needsNoCurl() throws {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources")
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        var (left, found) = (0, [String]())
        for case let file as URL in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            guard text.contains(#/import Foundation(Networking|XML)\b/#) else { continue }
            if text.hasPrefix("#if !WITHOUT_URL_SESSION\n") { left += 1 } else { found.append(file.lastPathComponent) }
        }
        #expect(left == 1)
        #expect(found.isEmpty)
    }
}
