import Foundation
import Testing

/// `deploy/run`, the image and the package link Swift's libraries statically and install few system packages.
@Suite(.timeLimit(.minutes(15))) struct StaticLinkTests {
    @Test func `Only the client imports the modules of Foundation that need libcurl or libxml2`() throws {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources")
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        var found: Set<String> = []
        for case let file as URL in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            guard text.contains(#/import Foundation(Networking|XML)\b/#) else { continue }
            found.insert(String(file.path.dropFirst(sources.path.count + 1).prefix { $0 != "/" }))
        }
        #expect(found == ["PushTokenRegistry"])
    }
}
