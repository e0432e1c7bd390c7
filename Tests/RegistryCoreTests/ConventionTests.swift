import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct ConventionTests {
    @Test func `Every test has a sentence as its only name`() throws {
        var (count, others) = (0, Set<String>())
        for (path, text) in try ProjectFiles.texts(in: "Tests") where !path.hasSuffix("/ConventionTests.swift") {
            let named = text.matches(of: #/func `/#).count
            count += named
            if text.contains(#/@Test\(\s*"/#) || text.matches(of: #/@Test\b/#).count > named { others.insert(path) }
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

/// `String` treats canonically equivalent texts as equal, so texts of callers are keys only as `UTF8Text` or a type that contains one.
@Suite(.timeLimit(.minutes(15))) struct TextKeyTests {
    /// Places where a `String` may be a key, with the kind of its texts.
    private static let allowed = [
        "EmbeddedPostgres/": "settings of Postgres",
        "PostgresDriver/Connection/": "keywords of libpq, and names of our queries",
        "PostgresDriver/Pool/PostgresConfiguration.swift": "settings of Postgres",
        "PostgresDriver/PostgresError.swift": "codes of Postgres",
        "PushTokenRegistry/":
            "names of members, header fields and settings, ids of Apple's activities, and kinds of alias, which are ASCII",
        "RegistryRules/LockedRows+Feedback.swift": "kinds of token",
        "RegistryServer/Console/Pages/ActivityPage.swift": "types of event, all our words",
        "RegistryServer/Console/Rendering/ColumnChart.swift": "kinds and types of event, all our words",
        "RegistryServer/Docs/APIDocument.swift": "words of our own document",
        "RegistryServer/Docs/DocsSite.swift": "names of our pages",
        "RegistryServer/Metrics/RecordedMetrics.swift": "kinds of token and outcomes",
        "RegistryServer/Pages/": "names in our templates, and of our files",
        "RegistryStore/Counts/RegistryStatistics.swift": "states, kinds and types of event, all our words",
        "RegistryStore/Changes/Registry+Changes.swift": "names that Citus gives to transactions",
        "RegistryStore/Schema/Distribution.swift": "settings of Postgres",
        "RegistryStore/Work/UnitsOfWork.swift": "kinds of error, all our words",
        "pushreg/Settings/": "names of settings and of variables of the environment",
        "pushreg/Transfer/Import.swift": "codes of problems",
    ]

    private static var offence: Regex<Substring> {
        /\[String\??\s*:|Set<String\??>|Dictionary<String\b|\w\??\.string\s*(?:==|!=|<|>)\s|\s(?:==|!=)\s\S*[\w)?]\.string\b(?!\()/
    }

    private static func offences(in text: String) -> [String] {
        let offence = offence
        return text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.hasPrefix("//") && $0.contains(offence) }
    }

    @Test func `No text of callers is hashed or compared as a String`() throws {
        let code = try ProjectFiles.texts(in: "Sources").filter { !$0.path.hasPrefix("WebAssets/") }
        #expect(code.count > 200)
        var unused = Set(Self.allowed.keys)
        for (file, text) in code {
            let found = Self.offences(in: text)
            if let place = Self.allowed.keys.first(where: file.hasPrefix) {
                if !found.isEmpty { unused.remove(place) }
            } else {
                #expect(
                    found == [],
                    "\(file): keys from callers' texts must be UTF8Text; this test lists the exceptions"
                )
            }
        }
        #expect(unused == [], "the list of exceptions has unused entries")
    }

    @Test(arguments: [
        "    private var activities: [String: String] = [:]", "    private var known: Set<String> = []",
        "    let earlier = ids.reduce(into: Set<String>()) { $0.insert($1) }",
        "    var merged: Dictionary<String, Int>",
        "    if owner.string != activity.activityID.rawValue.string { return nil }",
        "    return left == right.rawValue.string", "    let names: [String?: Int]",
    ])
    func `The check reports text that is hashed or compared as a String`(_ line: String) {
        #expect(Self.offences(in: line).count == 1)
    }

    @Test(arguments: [
        "/// A dictionary `[String: Int]` would be wrong.", "    let texts: [String] = []",
        "    json.member(\"a\", id.rawValue.string)", "    let kinds: [UTF8Text: AliasRule]",
    ])
    func `The check ignores all other code`(_ line: String) { #expect(Self.offences(in: line).isEmpty) }
}
