import Foundation
import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer
@testable import RegistryStore

@Suite(.timeLimit(.minutes(2))) struct ConsoleEscapingTests {
    /// The last has an accent on its quotation mark: another character, but still the end of an attribute.
    private static let nasty = [
        "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onmouseover='alert(1)", "{{formToken}}",
        "{{{bundleId}}}", "a&b;&lt;", "\u{202E}gnp", "\"\u{301} autofocus onfocus=alert(1) x=\"\u{301}",
        "%2F..%2F", "javascript:alert(1)", "?a=b#c", "ünï/çødé",
    ]

    @Test(.service) func `Hostile names are shown as text`() async throws {
        for (number, name) in Self.nasty.enumerated() {
            let body: JSONValue = [
                "token": .token(number), "installationId": .string("phone-\(number)"),
                "attributesType": .string(name), "aliases": ["liveactivityId": .string(name)],
                "metadata": ["note": .string(name)],
            ]
            let path = "…/activities/\(ConsoleLink.encoded(name))"
            #expect(try await server.call(.put, path, body).status == 201)
            _ = try await server.call(.put, "/v1/apps/com.example.food", ["name": .string(name)])
            let channel: JSONValue = ["channelId": "dGVzdA==", "messageStoragePolicy": 1]
            let place = "…/aliases/liveactivityId/\(ConsoleLink.encoded(name))/channel"
            _ = try await server.call(.put, place, channel)
        }
        let browser = ConsoleBrowser()
        var pages = [
            "…", "…/stale", "…/installations", "…/channels", "…/keys", "…/search?q=event:any",
            "…/search?q=state:active",
        ]
        for name in Self.nasty {
            let encoded = ConsoleLink.encoded(name)
            pages += [
                "…/activities/\(encoded)", "…/aliases/liveactivityId/\(encoded)", "…/search?q=\(encoded)",
                "…/search?q=state:\(encoded)", "…/stale?attributesType=\(encoded)", "…/stale?kind=\(encoded)",
                "/console/sign-in?next=\(encoded)", "/console/\(encoded)/sandbox", "…/nothing/\(encoded)",
            ]
        }
        for path in pages {
            let reply = try await browser.get(path)
            Self.checkMarkup(reply, path)
            Self.checkTokens(reply, path)
        }
    }

    private static func checkMarkup(_ reply: Reply, _ path: String) {
        let allowed: Set<String> = [
            "a", "body", "button", "caption", "code", "dd", "details", "div", "dl", "dt", "figcaption", "figure",
            "footer", "form", "h1", "h2", "h3", "head", "header", "html", "input", "label", "li", "link", "main",
            "meta", "nav", "ol", "option", "p", "path", "pre", "rect", "script", "section", "select", "span", "strong",
            "summary", "svg", "table", "tbody", "td", "th", "thead", "time", "title", "tr", "ul",
        ]
        #expect(reply.status < 500, "\(path)")
        let scan = PageScan(reply.text)
        #expect(scan.faults == [], "\(path)")
        for element in scan.elements {
            #expect(allowed.contains(element.name), "\(path): \(element)")
            let names = element.attributes.keys
            #expect(!names.contains { $0.hasPrefix("on") || $0.hasPrefix("style") }, "\(path): \(element)")
        }
        #expect(reply.text.components(separatedBy: "<script").count <= 2, "\(path)")
    }

    private static func checkTokens(_ reply: Reply, _ path: String) {
        for number in nasty.indices { #expect(!reply.text.contains(PushToken.sample(number).hexadecimal), "\(path)") }
        #expect(!reply.text.contains("phone-1"), "\(path)")
    }

    @Test(arguments: [
        ("https://evil.example/console", false), ("//evil.example/console", false), ("/console/../v1/apps", false),
        ("/console/%2e%2E/docs", false), ("/console/.%2e", false), ("/console\\..\\..", false), ("\\console", false),
        ("/console.evil.example", false), ("/consoleevil", false), ("/v1/apps", false), ("javascript:alert(1)", false),
        ("/console/\u{7F}", false), ("/console", true), ("/console/a/b?c=d", true), ("/console/a..b", true),
        ("/console/a/b/activities/..x", true), ("/console/a/b/search?q=/../", true),
    ])
    func `A path is the console's own or not`(_ path: String, _ isOwn: Bool) {
        #expect(ConsoleLink.isOwn(path) == isOwn)
    }

    @Test func `The search text is read word by word`() {
        let search = SearchText("alias:order-42  state:stale \"two words\" subject:\"u 7\" https://x note:y")
        #expect(
            search.terms == [
                .init(name: "alias", value: "order-42"), .init(name: "state", value: "stale"),
                .init(name: nil, value: "two words"), .init(name: "subject", value: "u 7"),
                .init(name: nil, value: "https://x"), .init(name: nil, value: "note:y"),
            ]
        )
        #expect(SearchText("").terms.isEmpty)
        #expect(SearchText("  \"\" ").terms.isEmpty)
        #expect(SearchText("alias:a ALIAS:b")["alias"] == "b")
        #expect(SearchText("0123456789abcdef0123456789abcde").withoutSecrets == nil)
        #expect(SearchText("x 0123456789abcdef0123456789abcdef").withoutSecrets?.hasPrefix("x fingerprint:") == true)
    }

    @Test func `Numbers and times are written for people`() {
        #expect(
            [0, 7, 999, 1000, 1_234_567, -12_345].map { DisplayText.count($0) } == [
                "0", "7", "999", "1,000", "1,234,567", "-12,345",
            ]
        )
        #expect(DisplayText.count(1, "token") == "1 token")
        #expect(DisplayText.count(2, "alias", "aliases") == "2 aliases")
        #expect([12, 1_500, 25_000_000].map { DisplayText.bytes($0) } == ["12 bytes", "1.5 kB", "25 MB"])
        #expect(
            [0.2, 59, 60, 3599, 7200, 200_000].map { DisplayText.span(.seconds($0)) } == [
                "under 1 s", "59 s", "1 min", "59 min", "2 h", "2 d",
            ]
        )
        #expect(DisplayText.share(1, of: 3) == "33 %")
        #expect(DisplayText.share(1, of: 1000) == "under 1 %")
        #expect(DisplayText.share(0, of: 0) == "0 %")
    }
}

@Suite struct ColumnChartTests {
    private static let end = Date(timeIntervalSince1970: 1_700_000_040)

    private static func statistics(_ change: (inout RegistryStatistics) -> Void) -> RegistryStatistics {
        var statistics = RegistryStatistics(computedAt: end, window: .seconds(3600), step: .seconds(60))
        change(&statistics)
        return statistics
    }

    private static func step(_ minutesAgo: Double, _ counts: [String: Int]) -> RegistryStatistics.Step {
        RegistryStatistics.Step(start: end.addingTimeInterval(-60 * minutesAgo), counts: counts)
    }

    /// The chart's table: the column and its counts.
    private static func figures(_ chart: ColumnChart) -> [String] {
        chart.figures.map { ([$0.column] + $0.counts).map(String.init).joined(separator: " ") }
    }

    private static func chart(_ title: String, _ statistics: RegistryStatistics) throws -> ColumnChart {
        ColumnChart(try #require(ColumnChart.subjects.first { $0.title == title }), statistics)
    }

    @Test func `A level continues into the next column`() throws {
        let statistics = Self.statistics {
            $0.tokenCounts = [
                Self.step(65, ["update": 1]), Self.step(50, ["update": 8, "start": 2]), Self.step(48, ["update": 5]),
                Self.step(20, [:]), Self.step(5, ["update": 2]),
            ]
            $0.tokens = [TokenKind.update, .start, .device, .widget].map {
                RegistryStatistics.Tokens(kind: $0, count: $0 == .update ? 3 : 0, ages: [])
            }
        }
        let chart = try Self.chart("Live tokens", statistics)
        // From 60 minutes ago: the count from five minutes before the window, a gap, two counts of ten minutes each, an
        // empty count, the last count, and the current value.
        let expected =
            (0...4).map { "\($0) 1 0 0 0" } + (10...11).map { "\($0) 8 2 0 0" } + (12...21).map { "\($0) 5 0 0 0" }
            + (55...59).map { "\($0) 2 0 0 0" } + ["60 3 0 0 0"]
        #expect(Self.figures(chart) == expected)
        #expect(chart.total == 3)
        #expect(chart.peak == "10")
        let sentence = chart.sentence
        #expect(sentence.hasPrefix("Live tokens in the last 1 h: 3 now, most at ") && sentence.hasSuffix(": 10."))
        #expect(chart.legend.map(\.total) == [3, 0, 0, 0])
    }

    @Test func `Events count in their own column`() throws {
        let statistics = Self.statistics {
            $0.steps = [Self.step(60, ["registered": 1]), Self.step(2, ["registered": 4, "reactivated": 2])]
        }
        let chart = try Self.chart("Registrations", statistics)
        #expect(Self.figures(chart) == ["0 1 0", "58 4 2"])
        #expect(chart.total == 7)
        #expect(chart.sentence.contains("7 in total, most at"))
        #expect(try Self.chart("Live tokens", statistics).sentence == "Live tokens in the last 1 h: none.")
    }
}
