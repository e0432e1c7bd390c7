import Foundation
import RegistryCore

/// Checks a page for users with a screen reader or without a mouse.
///
/// Uses `axe-core` if it is installed. A script here checks rules that `axe-core` lacks, and replaces it where it is
/// missing.
enum AccessibilityCheck {
    /// `axe-core` takes most of the time, and its rules depend on colors but hardly on the size of the window.
    static func faults(_ browser: WebDriver, usesAxe: Bool = true) async throws -> [String] {
        var faults = lines(try await browser.run(own))
        if usesAxe, let axe {
            try await browser.run(axe)
            faults += lines(try await browser.runAsynchronously(axeRun)).map { "axe: \($0)" }
        }
        return faults
    }

    static var hasAxe: Bool { axe != nil }

    /// The file that `deploy/prerequisites` installs or the environment names.
    private static let axe: String? = {
        let named = ProcessInfo.processInfo.environment["PUSHREG_AXE"]
        let place = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../..")
            .appendingPathComponent(".build/axe/axe.min.js").standardizedFileURL.path
        return try? String(contentsOfFile: named ?? place, encoding: .utf8)
    }()

    private static func lines(_ value: JSONValue) -> [String] {
        guard case .array(let items) = value else { return ["the check itself failed: \(value)"] }
        return items.map(WebDriver.text)
    }

    private static let axeRun = """
        const done = arguments[arguments.length - 1];
        axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}).then(
            (found) => done(found.violations.map((rule) =>
                rule.id + ": " + rule.nodes.map((node) => node.target.join(" ") + " " + node.html.slice(0, 120)).join("; "))),
            (error) => done([String(error)]));
        """

    private static let own = #"""
        const faults = [];
        const fault = (text, element) =>
            faults.push(text + (element ? ": " + element.outerHTML.slice(0, 120) : ""));
        const all = (selector) => [...document.querySelectorAll(selector)];
        const isShown = (element) => element.checkVisibility() && !element.closest(".unseen");
        const name = (element) => (element.getAttribute("aria-label")
            || (element.getAttribute("aria-labelledby") || "").split(/\s+/).filter(Boolean)
                .map((id) => (document.getElementById(id) || {textContent: ""}).textContent).join(" ")
            || [...(element.labels || [])].map((label) => label.textContent).join(" ")
            || element.textContent || "").trim();

        if (!document.documentElement.lang) fault("the page says no language");
        if (!document.title.trim()) fault("the page has no title");
        if (all("h1").length !== 1) fault("the page has " + all("h1").length + " h1");
        if (all("main").length !== 1) fault("the page has " + all("main").length + " main");
        let level = 0;
        for (const heading of all("h1, h2, h3, h4")) {
            const next = Number(heading.tagName[1]);
            if (next > level + 1) fault("a heading skips a level", heading);
            level = next;
        }
        const ids = all("[id]").map((element) => element.id);
        for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) fault("the id " + id + " is twice there");
        for (const element of all("a[href], button, input:not([type=hidden]), select, summary")) {
            if (!name(element)) fault("a control has no name", element);
        }
        for (const element of all("svg")) {
            const isNamed = element.getAttribute("role") === "img" && name(element);
            if (!isNamed && element.getAttribute("aria-hidden") !== "true") fault("a drawing has no name", element);
        }
        for (const element of all("img:not([alt])")) fault("an image has no text", element);
        for (const table of all("table")) {
            for (const head of table.querySelectorAll("th")) if (!head.scope) fault("a head says not what it heads", head);
            if (!table.querySelector("th")) fault("a table has no heads", table);
        }
        for (const region of all("[tabindex='0']")) if (!name(region)) fault("a region has no name", region);
        if (!document.querySelector("a.skip[href='#content']")) fault("nothing leads past the navigation");

        const parse = (text) => {
            const parts = text.match(/[\d.]+/g).map(Number);
            return {r: parts[0], g: parts[1], b: parts[2], a: parts.length > 3 ? parts[3] : 1};
        };
        const over = (top, under) => ({r: top.r * top.a + under.r * (1 - top.a), g: top.g * top.a + under.g * (1 - top.a),
            b: top.b * top.a + under.b * (1 - top.a), a: 1});
        const behind = (element) => {
            const layers = [];
            for (let at = element; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
            return layers.reverse().reduce((under, top) => over(top, under), {r: 255, g: 255, b: 255, a: 1});
        };
        const light = (colour) => {
            const [r, g, b] = [colour.r, colour.g, colour.b].map((value) => {
                const part = value / 255;
                return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
            });
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const contrast = (a, b) => {
            const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
            return (high + 0.05) / (low + 0.05);
        };
        const seen = new Set();
        for (const element of all("body *")) {
            const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
            if (!hasText || !isShown(element) || element.closest("svg") || element.disabled) continue;
            const style = getComputedStyle(element);
            const ground = behind(element);
            const ratio = contrast(over(parse(style.color), ground), ground);
            const key = element.tagName + element.className + style.color;
            if (ratio < 4.5 && !seen.has(key)) {
                seen.add(key);
                fault("a contrast of " + ratio.toFixed(2), element);
            }
        }
        // Keyboard users must see the focus.
        for (const element of all("a[href], button:not([disabled]), input:not([type=hidden]), select, summary").slice(0, 60)) {
            if (!isShown(element)) continue;
            element.focus({focusVisible: true});
            if (document.activeElement !== element) continue;
            const style = getComputedStyle(element);
            if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) fault("the focus does not show", element);
        }
        if (document.activeElement) document.activeElement.blur();
        const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
        if (wide > 1) fault("the page is " + wide + " pixels wider than the window");
        return faults;
        """#
}
