import Testing

/// `deploy/run`, the image and the package link Swift's libraries statically and install few system packages.
@Suite(.timeLimit(.minutes(15))) struct StaticLinkTests {
    @Test func `Only the client imports the modules of Foundation that need libcurl or libxml2`() throws {
        let importing = try ProjectFiles.texts(in: "Sources")
            .filter { $0.text.contains(#/import Foundation(Networking|XML)\b/#) }
        #expect(Set(importing.map { $0.path.prefix { $0 != "/" } }) == ["PushTokenRegistry"])
    }
}
