import Crypto
import Foundation
import Logging
import RegistryCore
import Synchronization

/// Signs people in with the company's identity provider, by OpenID Connect's authorization code flow with PKCE.
struct IdentityProvider: Sendable {
    let settings: SignInSettings
    private let discovery: ProviderDiscovery
    private let verifier: JWTVerifier
    /// The console, as an app with the provider's people as its users.
    private let app: App

    init(_ settings: SignInSettings, clock: ServiceClock, logger: Logger) {
        let discovery = ProviderDiscovery(settings)
        (self.settings, self.discovery) = (settings, discovery)
        let keys = IssuerKeys(clock: clock, logger: logger, fetch: discovery.fetchKeys)
        verifier = JWTVerifier(keys: keys, clock: clock)
        let (issuer, audience) = (JSONValue.string(settings.issuer), JSONValue.string(settings.clientID))
        var people = AppSettings()
        people.jwt = ["issuer": issuer, "audience": audience, "jwksUrl": .string(discovery.url)]
        app = App(
            id: 0,
            scopeIDs: ScopeIDs(sandbox: 0, production: 0),
            bundleID: BundleID(stored: "console"),
            settings: people,
            createdAt: .distantPast,
            updatedAt: .distantPast
        )
    }

    /// The page of the provider where a sign-in begins.
    ///
    /// - Throws: `unavailable`.
    func address(for attempt: SignInAttempt) async throws(Problem) -> String {
        let document = try await findDocument()
        let known = JWTRequirements.texts(document["scopes_supported"])
        let scopes = ["openid"] + ["profile", "email", "groups"].filter(known.contains)
        let verifier = Data(attempt.code(for: .verifier, settings).utf8)
        let query = ConsoleLink.query([
            ("response_type", "code"), ("client_id", settings.clientID), ("redirect_uri", settings.redirectURI),
            ("scope", scopes.joined(separator: " ")), ("state", attempt.code(for: .state, settings)),
            ("nonce", attempt.code(for: .nonce, settings)),
            ("code_challenge", Base64URL.encode(Array(SHA256.hash(data: verifier)))), ("code_challenge_method", "S256"),
        ])
        let address = document["authorization_endpoint"]?.string ?? ""
        return address + (address.contains("?") ? "&" + query.dropFirst() : query)
    }

    /// The holder of a session: the person that the provider's answer is about.
    ///
    /// - Parameter answer: the parameters with which the provider sent the browser back.
    /// - Throws: `unauthenticated` for an ID token that is not valid; `forbidden`, `unavailable`.
    func holder(in answer: Query, of attempt: SignInAttempt) async throws(Problem) -> String {
        let (document, name) = (try await findDocument(), settings.providerName)
        let mustNameIssuer = document["authorization_response_iss_parameter_supported"] == true
        guard answer["iss"].last.map({ $0 == settings.issuer }) ?? !mustNameIssuer else {
            throw Problem(.forbidden, "The answer is not from \(name). Sign in once more.")
        }
        guard let code = answer["code"].last, answer["error"].isEmpty else {
            let word = KeySetFetcher.errorWord(answer["error"].last)
            throw Problem(.forbidden, "\(name) did not sign you in\(word). Sign in once more.")
        }
        let tokens = try await exchange(code, of: attempt, at: document["token_endpoint"]?.string ?? "")
        let text = Secret(tokens["id_token"]?.string ?? "")
        let token = try CompactJWT(text)
        _ = try await verifier.user(of: token, named: VerifiedTokens.Name(text, of: app.bundleID), app)
        try check(token.claims, of: attempt)
        return try holder(of: token.claims)
    }

    private func findDocument() async throws(Problem) -> JSONValue {
        let found = await verifier.keys.keys(of: app) { _ in true }
        guard found != nil else { throw unavailable(verifier.keys.failure(of: app.bundleID)) }
        return discovery.document
    }

    private func unavailable(_ reason: String?) -> Problem {
        let fault = "Sign-in with \(settings.providerName) is not available now\(reason.map { ": \($0)" } ?? "")."
        return Problem(.unavailable, "\(fault) Try again in a minute, or sign in with a key.")
    }

    private func exchange(_ code: String, of attempt: SignInAttempt, at url: String) async throws(Problem) -> JSONValue
    {
        let form = ConsoleLink.query([
            ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", settings.redirectURI),
            ("code_verifier", attempt.code(for: .verifier, settings)),
        ])
        // RFC 6749 2.3.1 encodes both before they are joined.
        let parts = [settings.clientID, settings.clientSecret.revealed].map(ConsoleLink.encoded)
        let authorization = "Basic " + Data(parts.joined(separator: ":").utf8).base64EncodedString()
        do {
            let fields = (text: Secret(String(form.dropFirst())), authorization: Secret(authorization))
            return try await discovery.fetcher.fetch(url, posting: fields)
        } catch { throw unavailable("\(url) \(KeySetFetcher.reason(error))") }
    }

    /// The checks of OpenID Connect Core 3.1.3.7 that the tokens of an app's users do not need.
    private func check(_ claims: JSONObject, of attempt: SignInAttempt) throws(Problem) {
        let nonce = attempt.code(for: .nonce, settings)
        guard let given = claims["nonce"]?.string, ConstantTime.areEqual(given, nonce) else {
            throw CompactJWT.refusal("Its nonce is not from this sign-in.")
        }
        let hasOneAudience = JWTRequirements.texts(claims["aud"]).count == 1
        guard claims["azp"] == .string(settings.clientID) || (claims["azp"] == nil && hasOneAudience) else {
            throw CompactJWT.refusal("Its azp is not the client id.")
        }
    }

    private func holder(of claims: JSONObject) throws(Problem) -> String {
        let (claim, provider) = (settings.claim, settings.providerName)
        guard let value = claims[claim] else {
            let remedy = "Add it to the client's ID tokens there, or set --oidc-claim to one that they have."
            throw Problem(.forbidden, "The ID token of \(provider) has no claim \(claim). \(remedy)")
        }
        // Elsewhere a person may state the address of another.
        let isVerified = claims["email_verified"] == true || claims["email_verified"] == "true"
        guard claim != "email" || isVerified else {
            throw Problem(.forbidden, "\(provider) does not state that your address is verified.")
        }
        // The provider's own id follows the readable name, which may change hands.
        let readable = (isVerified ? claims["email"] : nil)?.string ?? claims["preferred_username"]?.string
        let isWord = readable.map { !$0.contains(/\s/) && (try? UTF8Text.subject($0)) != nil } ?? false
        let name = "console:" + (isWord ? "\(readable ?? "") " : "") + (claims["sub"]?.string ?? "")
        if let holder = settings.holder(name, JWTRequirements.texts(value)) { return holder }
        let fault = "You have no role here: --oidc-roles has no value of your claim \(claim)."
        throw Problem(.forbidden, "\(fault) Ask the operator of the registry for one.")
    }
}

/// Fetches an identity provider's discovery document and its keys (OpenID Connect Discovery 1.0).
final class ProviderDiscovery: Sendable {
    let settings: SignInSettings
    // The operator names the provider, which may well be in the operator's own network.
    let fetcher = KeySetFetcher(allowsInternal: true)
    private let found = Mutex(JSONValue.null)

    init(_ settings: SignInSettings) { self.settings = settings }

    var url: String { settings.issuer.replacing(/\/$/, with: "") + "/.well-known/openid-configuration" }
    var document: JSONValue { found.withLock(\.self) }

    /// - Throws: a sentence without a subject that names the URL.
    @Sendable
    func fetchKeys(_ url: String) async throws -> JSONValue {
        var place = url
        do {
            let document = try await fetcher.fetch(url)
            try check(document)
            place = document["jwks_uri"]?.string ?? ""
            let keys = try await fetcher.fetch(place)
            _ = try VerificationKeySet.read(keys)
            found.withLock { $0 = document }
            return keys
        } catch { throw JSONFaultReason("\(place) \(KeySetFetcher.reason(error))") }
    }

    private func check(_ document: JSONValue) throws(JSONFaultReason) {
        guard document["issuer"] == .string(settings.issuer) else {
            throw JSONFaultReason("states another issuer; --oidc-issuer must equal it, also in a slash at the end")
        }
        let scheme = SignInSettings.isLocal(settings.issuer) ? /https?:\/\/[!-~]+/ : /https:\/\/[!-~]+/
        for name in ["authorization_endpoint", "token_endpoint", "jwks_uri"]
        where document[name]?.string?.wholeMatch(of: scheme) == nil {
            throw JSONFaultReason("has no https URL as \(name)")
        }
        let methods = JWTRequirements.texts(document["code_challenge_methods_supported"])
        guard methods.isEmpty || methods.contains("S256") else { throw JSONFaultReason("lacks PKCE with S256") }
    }
}

extension Finding {
    /// Asks the identity provider for what sign-in to the console needs of it. Nil if it is there.
    package static func aboutSignIn(_ settings: SignInSettings) async -> Finding? {
        let discovery = ProviderDiscovery(settings)
        do {
            _ = try await discovery.fetchKeys(discovery.url)
            return nil
        } catch {
            let detail = "\(KeySetFetcher.reason(error)), so nobody signs in to the console there."
            let remedy = "Set --oidc-issuer to the provider's issuer, and let this machine reach it."
            return Finding(.consoleSignIn, detail, remedy: remedy)
        }
    }
}

/// A sign-in with the identity provider that began in a browser, as the browser's cookie states it.
///
/// The cookie has a random number, the time and the page to return to. State, nonce and PKCE's verifier are message
/// authentication codes of its text. So the state proves the cookie, and every instance can finish the sign-in.
struct SignInAttempt: Sendable {
    let text: String
    private let startedAt: TimeInterval
    let next: String

    /// The lifetime, in seconds.
    static let longestTime = 600

    init(toward next: String, at now: Date) {
        startedAt = now.timeIntervalSince1970.rounded(.down)
        // A longer path would not fit in a cookie.
        self.next = next.utf8.count <= 2048 ? next : ConsoleLink.home
        text = "\(ConsoleSession.makeNonce()).\(Int64(startedAt)).\(Base64URL.encode(Array(self.next.utf8)))"
    }

    /// A cookie's text, not yet proved.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let second = UInt32(parts[1]), let next = Base64URL.decode(parts[2]) else { return nil }
        (self.text, startedAt) = (text, TimeInterval(second))
        self.next = String(decoding: next, as: UTF8.self)
    }

    func isValid(at now: Date) -> Bool {
        // A minute for differing clocks of instances.
        (-60..<TimeInterval(Self.longestTime)).contains(now.timeIntervalSince1970 - startedAt)
    }

    enum Purpose { case state, nonce, verifier }

    /// 43 characters of base64url.
    func code(for purpose: Purpose, _ settings: SignInSettings) -> String {
        Base64URL.encode(SignInSettings.code("\(purpose)\n\(text)", settings.sealingKey))
    }
}
