import Foundation
import RegistryCore
import TestSupport
import Testing

/// A sign-in with an identity provider of another site, in a real browser with its rules for cookies, forms and redirections.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ProviderBrowserTests {
    private static let canRun = WebDriver.programs != nil

    @Test(.enabled(if: canRun, "chromium and chromium-driver are not installed: deploy/prerequisites does that"))
    func `A person signs in with a provider on another site, and signs out`() async throws {
        let database = try await TestDatabase.make()
        _ = try await database.scope()
        try await TestProvider.run { provider in
            provider.change { $0.asks = true }
            let port = try FreePort.take()
            // To browsers, localhost and 127.0.0.1 are two sites.
            let url = "http://localhost:\(port)"
            let service = try await ServiceProcess.start(
                database: ["--database-url", database.connectionString],
                arguments: [
                    "--unsafe-durability", "--port", "\(port)", "--public-url", url,
                    "--oidc-issuer", provider.issuer, "--oidc-client-id", TestProvider.clientID,
                    "--oidc-client-secret", TestProvider.clientSecret,
                    "--oidc-roles", "admin:com.example.food=push-admins",
                ],
                isInsecure: false
            )
            try await WebDriver.run { try await Self.visit($0, url) }
            #expect(await service.stop() == 0)
        }
    }

    private static func visit(_ browser: WebDriver, _ url: String) async throws {
        let place = url + "/console/com.example.food/sandbox/keys"
        try await browser.open(place)
        #expect(try await AccessibilityCheck.faults(browser) == [])
        #expect(try await browser.complaints() == [])
        try await browser.press("form[action='/console/sign-in/provider'] button")
        try await waitForElement("#yes", browser)
        try await browser.press("#yes")
        try await waitForElement("form[action='/console/sign-out']", browser)
        #expect(try await browser.address() == place)
        let text = WebDriver.text(try await browser.run("return document.body.textContent"))
        #expect(text.contains("Signed in as admin console:jane@example.com 2481"))
        // The browser may leave a page that redirects before it has loaded the page's icon.
        let complaints = try await browser.complaints().filter { !$0.contains("/favicon.ico") }
        #expect(complaints == [])
        try await browser.press("form[action='/console/sign-out'] button")
        #expect(try await browser.address() == url + "/console/sign-in")
        // A page from the browser's history no longer works.
        try await browser.open(place)
        #expect(try await browser.address().hasPrefix(url + "/console/sign-in"))
    }

    /// The pages in between redirect by themselves.
    private static func waitForElement(_ selector: String, _ browser: WebDriver) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < deadline {
            // A page that is unloading may return an error.
            if (try? await browser.run("return document.querySelector(`\(selector)`) !== null")) == true { return }
        }
        throw WebDriver.Fault(description: "no \(selector) at \(try await browser.address())")
    }
}
