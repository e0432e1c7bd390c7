import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.serialized, .timeLimit(.minutes(30))) struct ConsoleBrowserTests {
    private static let canRun = WebDriver.programs != nil
    private static let count = TestScale.isLong ? 1_000_000 : 2000

    @Test(.enabled(if: canRun, "chromium and chromium-driver are not installed: deploy/prerequisites does that"))
    func `Every page is displayed in a browser without errors`() async throws {
        let place = try await ConsolePlace.make(count: Self.count)
        try await WebDriver.run { try await Self.visit($0, place) }
        #expect(await place.service.stop() == 0)
    }

    private static func visit(_ browser: WebDriver, _ place: ConsolePlace) async throws {
        try await signIn(browser, place)
        for isDark in [false, true] {
            try await browser.prefer(dark: isDark)
            for page in place.pages {
                let isMissing = page.name == "problem"
                try await browser.look(at: place.url(page.path), isDark: isDark, isMissing, page.words)
            }
        }
        try await browser.prefer(dark: false)
        try await purge(browser, place)
        print("figure: axe-core \(AccessibilityCheck.hasAxe ? "looked at every page of the console" : "was not there")")
    }

    private static func signIn(_ browser: WebDriver, _ place: ConsolePlace) async throws {
        try await browser.resize(width: 1280, height: 900, isPhone: false)
        try await browser.open(place.url("/console/com.example.food/sandbox"))
        try await browser.expectNoFaults("sign-in")
        try await browser.type(place.key, into: "#key")
        try await browser.press("button[type=submit]")
        #expect(try await browser.address() == place.url("/console/com.example.food/sandbox"))
        #expect(try await browser.complaints() == [])
    }

    /// Completes the wizard as an admin. The button is disabled until the right words are typed.
    private static func purge(_ browser: WebDriver, _ place: ConsolePlace) async throws {
        try await browser.resize(width: 1280, height: 900, isPhone: false)
        try await browser.open(place.url("/console/com.example.food/sandbox/stale?kind=update&reason=quarantined"))
        try await browser.press("a[href*='stale/purge']")
        let isOff = "return document.querySelector('button.danger').disabled"
        #expect(try await browser.run(isOff) == true)
        try await browser.type("com.example.food sandbox", into: "#confirmation")
        #expect(try await browser.run(isOff) == false)
        try await browser.press("button.danger")
        let text = WebDriver.text(try await browser.run("return document.body.innerText"))
        #expect(text.contains("purged: update tokens that are quarantined"), "\(text.prefix(600))")
        try await browser.expectNoFaults("purged")
    }

    /// Median limits: 300 ms for a page, one second for an audit response.
    @Test func `Every page of the console loads fast with many records`() async throws {
        let place = try await ConsolePlace.make(count: Self.count)
        try await Self.measure(place)
        #expect(await place.service.stop() == 0)
    }

    private static func measure(_ place: ConsolePlace) async throws {
        let cookie = try await place.cookie()
        for page in place.pages {
            try await expectMedian(.milliseconds(300), "console, \(page.name)") {
                try await place.time(of: page.path, cookie)
            }
        }
        for call in place.auditCalls {
            let name = call.split(separator: "/").dropFirst(4).joined(separator: "/")
            let fields: HTTPFields = [.authorization: "Bearer \(place.key)"]
            try await expectMedian(.seconds(1), "GET …/\(name)") { try await place.time(of: call, fields) }
        }
    }

    private static func expectMedian(
        _ limit: Duration,
        _ subject: String,
        _ measure: () async throws -> Duration
    ) async throws {
        var times: [Duration] = []
        for _ in 0..<(TestScale.isLong ? 11 : 1) { times.append(try await measure()) }
        let median = times.sorted()[times.count / 2]
        print("figure: \(subject), \(count) activities, after \(Int(median / .milliseconds(1))) ms")
        // Other work on the machine may delay a short run.
        #expect(median < (TestScale.isLong ? limit : .seconds(20)), "\(subject): \(median)")
    }
}

@Suite(.timeLimit(.minutes(30))) struct DocsBrowserTests {
    private static let canRun = WebDriver.programs != nil

    @Test(.enabled(if: canRun, "chromium and chromium-driver are not installed: deploy/prerequisites does that"))
    func `Every page is displayed in a browser without errors`() async throws {
        let database = try await TestDatabase.make()
        let service = try await ServiceProcess.start(on: database)
        async let light: Void = Self.look(isDark: false, service)
        async let dark: Void = Self.look(isDark: true, service)
        _ = try await (light, dark)
        #expect(await service.stop() == 0)
    }

    private static func look(isDark: Bool, _ service: ServiceProcess) async throws {
        try await WebDriver.run { browser in
            try await browser.prefer(dark: isDark)
            for path in DocsSite.pages.keys.sorted() + ["/docs/none"] {
                let url = "http://127.0.0.1:\(service.port)\(path)"
                try await browser.look(at: url, isDark: isDark, path == "/docs/none")
            }
            if !isDark { try await copy(browser, service) }
        }
    }

    /// A button next to each example copies it or, where the browser denies the clipboard, selects it.
    private static func copy(_ browser: WebDriver, _ service: ServiceProcess) async throws {
        try await browser.open("http://127.0.0.1:\(service.port)/docs/reference/clients")
        let chosen = try await browser.runAsynchronously(
            """
            const done = arguments[arguments.length - 1];
            navigator.clipboard.writeText = () => Promise.reject(new Error("refused"));
            const button = document.querySelector("pre button.copy");
            new MutationObserver(() => done([button.textContent, String(getSelection())]))
                .observe(button, {childList: true});
            button.click();
            """
        )
        #expect(chosen[0] == "Selected")
        #expect(WebDriver.text(chosen[1]).hasPrefix("curl -X PUT \"$service/v1/apps/"))
    }
}
