import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct ConventionTests {
    @Test func `Every test has a sentence as its only name`() throws {
        var (count, others) = (0, Set<String>())
        for (path, text) in try ProjectFiles.texts(in: "Tests") where !path.hasSuffix("/ConventionTests.swift") {
            let named = text.matches(of: #/func `/#).count
            count += named
            if text.contains(#/@Test\(\s*"/#) || text.matches(of: #/@Test\b/#).count > named {
                others.insert(path)
            }
        }
        #expect(count > 900)
        #expect(others.isEmpty, "tests without a raw identifier, or with a second name: \(others.sorted())")
    }

    /// `deploy/run`, the image and the package link Swift's libraries statically and install few system packages.
    @Test func `Only the client imports the modules of Foundation that need libcurl or libxml2`() throws {
        let importing = try ProjectFiles.texts(in: "Sources")
            .filter { $0.text.contains(#/import Foundation(Networking|XML)\b/#) }
        #expect(Set(importing.map { $0.path.prefix { $0 != "/" } }) == ["PushTokenRegistry"])
    }
}
