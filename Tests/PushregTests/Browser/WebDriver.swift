import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import RegistryCore
import TestSupport
import Testing

/// A headless Chromium, controlled with the W3C's WebDriver protocol through `chromedriver`.
final class WebDriver: Sendable {
    private let driver: RunningProgram
    private let address: String

    /// The paths of Debian's packages; nil unless both programs are installed.
    static var programs: (driver: String, browser: String)? {
        let (driver, browser) = ("/usr/bin/chromedriver", "/usr/bin/chromium")
        return [driver, browser].allSatisfy(FileManager.default.isExecutableFile) ? (driver, browser) : nil
    }

    private init(driver: RunningProgram, address: String) { (self.driver, self.address) = (driver, address) }

    struct Fault: Error, CustomStringConvertible { let description: String }

    /// Starts a browser that records the log messages of its pages.
    private static func start() async throws -> WebDriver {
        guard let programs else { throw Fault(description: "chromium and chromium-driver are not installed") }
        let driver = try RunningProgram.start(programs.driver, ["--port=0"])
        guard let line = await driver.line(with: "started successfully on port"),
            let port = line.firstMatch(of: /on port (\d+)/).map({ String($0.1) })
        else { throw Fault(description: "chromedriver did not start: \(driver.text)") }
        let arguments: [JSONValue] =
            ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars"]
        let options: JSONValue = ["binary": .string(programs.browser), "args": .array(arguments)]
        let wishes: JSONValue = [
            "browserName": "chrome", "goog:chromeOptions": options,
            "goog:loggingPrefs": ["browser": "ALL", "performance": "OFF"],
            // On two busy cores, axe-core takes half a minute for a long page.
            "timeouts": ["script": 180_000],
        ]
        let base = "http://127.0.0.1:\(port)/session"
        let answer = try await call("POST", base, ["capabilities": ["alwaysMatch": wishes]])
        guard case .string(let session)? = answer["sessionId"] else {
            throw Fault(description: "chromedriver did not create a session: \(answer)")
        }
        return WebDriver(driver: driver, address: "\(base)/\(session)")
    }

    static func run(_ test: (WebDriver) async throws -> Void) async throws {
        let browser = try await start()
        try await perform({ try await test(browser) }, andThen: { await browser.stop() })
    }

    /// Opens a page in each size, and expects its words, no faults, and no files of other hosts. Dark pages differ in colors only.
    func look(at url: String, isDark: Bool, _ isMissing: Bool, _ words: String = "") async throws {
        let sizes = [("desktop", 1280, 900, false), ("phone", 390, 844, true)]
        for (size, width, height, isPhone) in sizes where !isDark || !isPhone {
            try await resize(width: width, height: height, isPhone: isPhone)
            try await open(url)
            let rules = isPhone ? nil : isDark ? AccessibilityCheck.colors : AccessibilityCheck.allRules
            try await expectNoFaults("\(url), \(size), dark: \(isDark)", axe: rules, isMissing: isMissing)
            let loaded = try await run(
                "return performance.getEntriesByType('resource').map((one) => new URL(one.name).host)"
                    + ".filter((host) => host !== location.host)"
            )
            #expect(loaded == [], "\(url)")
            let text = Self.text(try await run("return document.body.innerText"))
            #expect(words.isEmpty || text.contains(words), "\(url): \(text.prefix(600))")
        }
    }

    func expectNoFaults(
        _ place: String,
        axe rules: JSONValue? = AccessibilityCheck.allRules,
        isMissing: Bool = false
    ) async throws {
        // The page about a missing page returns 404.
        let complaints = try await complaints().filter { !isMissing || !$0.contains("404 (Not Found)") }
        #expect(complaints == [], "\(place)")
        #expect(try await AccessibilityCheck.faults(self, axe: rules) == [], "\(place)")
        #expect(try await self.complaints() == [], "\(place)")
    }

    private func stop() async {
        _ = try? await Self.call("DELETE", address, nil)
        // It has no session left and ignores SIGTERM.
        driver.send(SIGKILL)
        _ = await driver.end()
    }

    func open(_ url: String) async throws { try await post("url", ["url": .string(url)]) }
    func address() async throws -> String { Self.text(try await Self.call("GET", address + "/url", nil)) }

    func resize(width: Int, height: Int, isPhone: Bool) async throws {
        let metrics: JSONValue = [
            "width": .integer(Int64(width)), "height": .integer(Int64(height)), "deviceScaleFactor": 1,
            "mobile": .bool(isPhone),
        ]
        try await command("Emulation.setDeviceMetricsOverride", metrics)
    }

    func prefer(dark isDark: Bool) async throws {
        let wish: JSONValue = ["name": "prefers-color-scheme", "value": isDark ? "dark" : "light"]
        try await command("Emulation.setEmulatedMedia", ["features": [wish]])
    }

    @discardableResult
    func run(_ script: String) async throws -> JSONValue {
        try await post("execute/sync", ["script": .string(script), "args": []])
    }

    /// Runs a script and returns the value that it passes to its last argument, a callback.
    func runAsynchronously(_ script: String) async throws -> JSONValue {
        try await post("execute/async", ["script": .string(script), "args": []])
    }

    /// The browser's warnings and errors since the last call.
    func complaints() async throws -> [String] {
        try await post("se/log", ["type": "browser"]).elements
            .filter { ["SEVERE", "WARNING"].contains($0["level"]) }.map { Self.text($0["message"] ?? .null) }
    }

    func type(_ text: String, into selector: String) async throws {
        let element = try await find(selector)
        try await post("element/\(element)/value", ["text": .string(text)])
    }

    func press(_ selector: String) async throws {
        let element = try await find(selector)
        try await run("window.isLeft = true; document.querySelector(`\(selector)`).scrollIntoView({block: 'center'})")
        try await post("element/\(element)/click", [:])
        // A page that is unloading may return an error.
        try await until { (try? await run("return !window.isLeft && document.readyState === 'complete'")) == true }
    }

    private func find(_ selector: String) async throws -> String {
        let found = try await post("element", ["using": "css selector", "value": .string(selector)])
        guard case .object(let members) = found, case .string(let id)? = members.first?.value else {
            throw Fault(description: "\(selector) matches no element")
        }
        return id
    }

    static func text(_ value: JSONValue) -> String {
        guard case .string(let text) = value else { return value.description }
        return text
    }

    private func command(_ name: String, _ parameters: JSONValue) async throws {
        try await post("goog/cdp/execute", ["cmd": .string(name), "params": parameters])
    }

    @discardableResult
    private func post(_ path: String, _ body: JSONValue) async throws -> JSONValue {
        try await Self.call("POST", "\(address)/\(path)", body)
    }

    private static func call(_ method: String, _ url: String, _ body: JSONValue?) async throws -> JSONValue {
        var request = HTTPClientRequest(url: url)
        request.method = .RAW(value: method)
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(string: body.description))
        }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(120))
        let bytes = try await response.body.collect(upTo: 1 << 27)
        let value = try JSONParser.parse(bytes.readableBytesView)["value"] ?? .null
        guard response.status == .ok else { throw Fault(description: "\(url): \(value)") }
        return value
    }
}

/// Checks a page for users with a screen reader or without a mouse.
///
/// A script here checks rules that `axe-core` lacks. `axe-core` checks its own if it is installed.
enum AccessibilityCheck {
    /// Tags or names of axe-core's rules.
    static let allRules: JSONValue = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
    static let colors: JSONValue = ["color-contrast", "link-in-text-block"]

    /// - Parameter rules: axe-core takes most of the time. Its rules hardly depend on the size of the window, and few
    ///   depend on colors.
    static func faults(_ browser: WebDriver, axe rules: JSONValue? = allRules) async throws -> [String] {
        var faults = lines(try await browser.run(own))
        if let rules, let axe {
            try await browser.run(axe)
            faults += lines(try await browser.runAsynchronously(axeRun(rules))).map { "axe: \($0)" }
        }
        return faults
    }

    static var hasAxe: Bool { axe != nil }

    /// The file that `deploy/prerequisites` installs or the environment names.
    private static let axe: String? = {
        let named = ProcessInfo.processInfo.environment["PUSHREG_AXE"]
        let place = ProjectFiles.root.appendingPathComponent(".build/axe/axe.min.js").path
        return try? String(contentsOfFile: named ?? place, encoding: .utf8)
    }()

    private static func lines(_ value: JSONValue) -> [String] {
        guard case .array(let items) = value else { return ["the check itself failed: \(value)"] }
        return items.map(WebDriver.text)
    }

    private static func axeRun(_ rules: JSONValue) -> String {
        """
        const done = arguments[arguments.length - 1];
        axe.run(document, {runOnly: \(rules)}).then(
            (found) => done(found.violations.map((rule) =>
                rule.id + ": " + rule.nodes.map((node) => node.target.join(" ") + " " + node.html.slice(0, 120)).join("; "))),
            (error) => done([String(error)]));
        """
    }

    private static let own = #"""
        const faults = [];
        const all = (selector) => [...document.querySelectorAll(selector)];
        const fault = (text, element) => faults.push(text + ": " + element.outerHTML.slice(0, 120));
        const drawing = "svg:not([aria-hidden=true], [role=img][aria-label], [role=img][aria-labelledby])";
        for (const element of all(drawing)) fault("a drawing has no name", element);
        for (const table of all("table")) if (!table.querySelector("th")) fault("a table has no heads", table);
        for (const head of all("th:not([scope])")) fault("a head does not say which cells it heads", head);
        for (const region of all("[tabindex='0']:not([aria-label], [aria-labelledby])")) fault("a region has no name", region);
        if (!document.querySelector("a.skip[href='#content']")) fault("no link leads past the navigation", document.body);
        // Keyboard users must see the focus.
        for (const element of all("a[href], button:not([disabled]), input:not([type=hidden]), select, summary").slice(0, 60)) {
            if (!element.checkVisibility() || element.closest(".unseen")) continue;
            element.focus({focusVisible: true});
            if (document.activeElement !== element) continue;
            const style = getComputedStyle(element);
            if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) fault("the focus does not show", element);
        }
        if (document.activeElement) document.activeElement.blur();
        const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
        if (wide > 1) faults.push("the page is " + wide + " pixels wider than the window");
        return faults;
        """#
}
