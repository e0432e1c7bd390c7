import Foundation
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

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
                try await look(at: path, isDark: isDark, browser, service)
            }
            if !isDark { try await copy(browser, service) }
        }
    }

    private static func look(
        at path: String,
        isDark: Bool,
        _ browser: WebDriver,
        _ service: ServiceProcess
    ) async throws {
        let name = path.split(separator: "/").joined(separator: "-") + (isDark ? "-dark" : "")
        for (size, width, height, isPhone) in WebDriver.sizes where !isDark || !isPhone {
            try await browser.resize(width: width, height: height, isPhone: isPhone)
            try await browser.open("http://127.0.0.1:\(service.port)\(path)")
            // The page about a missing page returns 404.
            let complaints = try await browser.complaints().filter { !$0.contains("404 (Not Found)") }
            #expect(complaints == [], "\(name)-\(size)")
            let rules = isPhone ? nil : isDark ? AccessibilityCheck.colors : AccessibilityCheck.allRules
            let faults = try await AccessibilityCheck.faults(browser, axe: rules)
            #expect(faults == [], "\(name)-\(size)")
            let loaded = try await browser.run(
                "return performance.getEntriesByType('resource').map((one) => new URL(one.name).host)"
                    + ".filter((host) => host !== location.host)"
            )
            #expect(loaded == .array([]), "\(name)-\(size)")
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
