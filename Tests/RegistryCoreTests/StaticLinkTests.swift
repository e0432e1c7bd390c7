import Foundation
import Testing

/// `deploy/run`, the image and the package link Swift's libraries statically, with no more system packages than they install.
@Suite(.timeLimit(.minutes(15))) struct StaticLinkTests {
    @Test func `Only the client imports the modules of Foundation that need libcurl or libxml2`() throws {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources")
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        var found: [String] = []
        for case let file as URL in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            if text.contains(#/import Foundation(Networking|XML)\b/#) { found.append(file.lastPathComponent) }
        }
        #expect(found == ["URLSessionTransport.swift"])
    }
}
