import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import RegistryCore
import TestSupport

/// A headless Chromium, controlled with the W3C's WebDriver protocol through `chromedriver`.
final class WebDriver: Sendable {
    private let driver: RunningProgram
    private let address: String

    /// The paths of Debian's packages; nil unless both programs are installed.
    static var programs: (driver: String, browser: String)? {
        let (driver, browser) = ("/usr/bin/chromedriver", "/usr/bin/chromium")
        let areThere = [driver, browser].allSatisfy(FileManager.default.isExecutableFile)
        return areThere ? (driver, browser) : nil
    }

    private init(driver: RunningProgram, address: String) {
        self.driver = driver
        self.address = address
    }

    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

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

    static let sizes = [("desktop", 1280, 900, false), ("phone", 390, 844, true)]

    static func run(_ test: (WebDriver) async throws -> Void) async throws {
        let browser = try await start()
        do {
            try await test(browser)
        } catch {
            await browser.stop()
            throw error
        }
        await browser.stop()
    }

    private func stop() async {
        _ = try? await Self.call("DELETE", address, nil)
        // It has no session left and ignores SIGTERM.
        driver.send(SIGKILL)
        _ = await driver.end()
    }

    func open(_ url: String) async throws { try await post("url", ["url": .string(url)]) }
    func address() async throws -> String { Self.text(try await get("url")) }

    func resize(width: Int, height: Int, isPhone: Bool) async throws {
        try await command(
            "Emulation.setDeviceMetricsOverride",
            [
                "width": .integer(Int64(width)), "height": .integer(Int64(height)), "deviceScaleFactor": 1,
                "mobile": .bool(isPhone),
            ]
        )
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
        let deadline = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < deadline {
            // A page that is unloading may return an error.
            let isThere = try? await run("return !window.isLeft && document.readyState === 'complete'")
            if isThere == true { return }
        }
        throw Fault(description: "clicking \(selector) loaded no page")
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

    private func get(_ path: String) async throws -> JSONValue { try await Self.call("GET", "\(address)/\(path)", nil) }

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
