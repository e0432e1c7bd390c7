import Foundation
import RegistryCore
import TestSupport

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
