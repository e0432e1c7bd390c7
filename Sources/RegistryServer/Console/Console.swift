import Crypto
import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore

struct ConsoleCall: Sendable {
    let call: Call
    let visit: ConsoleVisit
    let form: Query

    var registry: Registry { call.registry }
    var principal: Principal { call.principal }
    var parts: ServiceParts { call.parts }
    var now: Date { parts.clock.date() }
    var scope: Scope { get throws(Problem) { try call.scope } }
    var link: ConsoleLink { get throws(Problem) { ConsoleLink(try scope) } }

    /// Nil if empty.
    func parameter(_ name: String) -> String? { call.query[name].last.flatMap { $0.isEmpty ? nil : $0 } }
    func field(_ name: String) -> String? { form[name].last.flatMap { $0.isEmpty ? nil : $0 } }
    var mayChange: Bool { Access.adminCalls.allows(principal) }
    var isRoot: Bool { principal.role == .root }
}

struct ConsoleVisit: Sendable {
    var principal = Principal.anonymous
    /// The roles of a person, each in an app. A key has none.
    var grants: [SignInSettings.Rule] = []
    var session: ConsoleSession?
    /// The digest that signs the session's next cookie.
    var digest: [UInt8] = []
    let isSecure: Bool
    /// Nil for anonymous callers.
    let formToken: String?

    /// - Throws: `forbidden` for a form from another session.
    func check(_ form: Query) throws(Problem) {
        guard let formToken, let given = form[FormToken.field].last, ConstantTime.areEqual(given, formToken) else {
            throw Problem(.forbidden, "The form is not from this session. Open the page again and repeat it there.")
        }
    }
}

extension RegistryResponder {
    /// Has the stages of the API, with a cookie in place of credentials.
    func servePage(_ page: Route.Page, _ located: RoutedRequest) async throws -> Response {
        let start = ContinuousClock.now
        let visit = try await findVisit(located)
        let (access, head) = (located.route.access, located.request.head)
        if access != .everyone, visit.principal.role == nil { return .signIn(toward: head) }
        let call = try await call(of: visit.principal, to: located)
        let lookups = ContinuousClock.now - start
        let response = try await count(call) {
            ConsoleCall(call: call, visit: visit, form: try await readForm(located, visit))
        } answer: { call in
            try await registry.spending(lookups) { try await page(call) }
        }
        guard let session = visit.session?.renewed(at: parts.clock.date()), response.fields[.setCookie] == nil
        else { return response }
        return response.with(session, digest: visit.digest, isSecure: visit.isSecure)
    }

    private func readForm(_ located: RoutedRequest, _ visit: ConsoleVisit) async throws -> Query {
        guard located.route.body == .form else { return try Query("") }
        let refusal = "Another site's page sent this form. Open the console itself and repeat it there."
        try RequestOrigin.check(located.request.head, believesNull: true, refusal)
        let form = try await bodies.form(located)
        if located.route.access != .everyone { try visit.check(form) }
        return form
    }

    /// Identifies the caller by the cookie. A person may have a role in several apps; the role in the path's app counts.
    private func findVisit(_ located: RoutedRequest) async throws -> ConsoleVisit {
        let isSecure = isSecure(located.request)
        guard !parts.authenticator.insecureNoAuth else {
            let token = FormToken.make(from: parts.insecureNonce)
            return ConsoleVisit(principal: .insecure, isSecure: isSecure, formToken: token)
        }
        let text = ConsoleCookie(purpose: .session, isSecure: isSecure).value(in: located.fields)
        let anonymous = ConsoleVisit(isSecure: isSecure, formToken: nil)
        guard let claim = text.flatMap(ConsoleSession.Claim.init), claim.session.isValid(at: parts.clock.date())
        else { return anonymous }
        let session = claim.session
        var visit = ConsoleVisit(session: session, isSecure: isSecure, formToken: session.formToken)
        if let key = try await findKey(of: claim, from: located.network) {
            (visit.principal, visit.digest) = (Principal(key), key.digest)
        } else if let settings = parts.provider?.settings, claim.isProved(by: settings.sealingKey) {
            let (name, grants) = settings.person(of: session.holder)
            let grant = grants.first { $0.app.rawValue == located.bundleID } ?? grants[0]
            (visit.grants, visit.digest) = (grants, settings.sealingKey)
            visit.principal = Principal(role: grant.role, who: name, app: grant.app)
        } else {
            return anonymous
        }
        return visit
    }

    /// Whether the browser uses TLS, to the service or to a trusted proxy.
    private func isSecure(_ request: Request) -> Bool {
        if parts.configuration.tls != nil { return true }
        guard let peer = request.peer, addresses.isTrusted(peer) else { return false }
        // A trusted proxy uses TLS unless its field contradicts.
        return request.fields[HTTPField.Name("X-Forwarded-Proto")!].map { $0.lowercased() == "https" } ?? true
    }

    private func findKey(of claim: ConsoleSession.Claim, from network: CallerNetwork?) async throws -> APIKeyRecord? {
        guard let id = try? APIKeyID(claim.session.holder) else { return nil }
        return try await parts.authenticator.findKey(id, from: network) { claim.isProved(by: $0.digest) }
    }
}

extension Response {
    static func seeOther(_ location: String) -> Response { Response(status: .seeOther, fields: [.location: location]) }

    /// Returns to the page after the sign-in, but drops the query, because a search can contain a pasted token.
    fileprivate static func signIn(toward head: HTTPRequest) -> Response {
        let isPage = head.method == .get && head.path != ConsoleLink.home
        let path = head.path?.split(separator: "?", maxSplits: 1).first ?? ""
        let next = path.hasSuffix("/search") ? String(path) : head.path
        return seeOther(ConsoleLink.signIn + ConsoleLink.query([("next", isPage ? next : nil)]))
    }

    func with(_ session: ConsoleSession, digest: [UInt8], isSecure: Bool) -> Response {
        var response = self
        let cookie = ConsoleCookie(purpose: .session, isSecure: isSecure)
        response.fields.append(cookie.setting(session.sealed(by: digest), seconds: Int(ConsoleSession.idleTime)))
        return response
    }
}

/// A signed-in session, stored in a cookie.
///
/// The cookie contains the key's id and a message authentication code, keyed with the stored digest of the key's
/// secret. All instances can check it without state, and it ends with the key's revocation or expiry. A person's cookie
/// contains their roles, and the settings of the sign-in seal it.
struct ConsoleSession: Sendable, Hashable {
    /// The key's id, or a person of ``SignInSettings``.
    let holder: String
    let signedInAt: Date
    /// The last page, accurate to about a minute.
    let seenAt: Date
    /// Random and known only to the browser. Form tokens derive from it.
    let nonce: String

    /// Without requests.
    static let idleTime: TimeInterval = 30 * 60
    static let longestTime: TimeInterval = 8 * 3600
    /// The age of `seenAt` at which the cookie is renewed.
    static let renewalInterval: TimeInterval = 60

    init(of holder: String, at now: Date, signedInAt: Date? = nil, nonce: String = makeNonce()) {
        self.holder = holder
        seenAt = Date(timeIntervalSince1970: now.timeIntervalSince1970.rounded(.down))
        self.signedInAt = signedInAt ?? seenAt
        self.nonce = nonce
    }

    /// Other sites' pages cannot read it.
    var formToken: String { FormToken.make(from: nonce) }

    func isValid(at now: Date) -> Bool {
        // Allows a minute of clock difference between instances.
        seenAt.timeIntervalSince(now) < 60 && now.timeIntervalSince(seenAt) < Self.idleTime
            && now.timeIntervalSince(signedInAt) < Self.longestTime
    }

    func renewed(at now: Date) -> ConsoleSession? {
        guard now.timeIntervalSince(seenAt) >= Self.renewalInterval else { return nil }
        return ConsoleSession(of: holder, at: now, signedInAt: signedInAt, nonce: nonce)
    }
}

extension ConsoleSession {
    /// A parsed cookie without a verified code.
    struct Claim: Sendable {
        let session: ConsoleSession
        fileprivate let code: String

        init?(_ text: String) {
            let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 6, parts[0] == ConsoleSession.version,
                let signedInAt = Self.time(parts[2]), let seenAt = Self.time(parts[3]), signedInAt <= seenAt
            else { return nil }
            session = ConsoleSession(of: parts[1], at: seenAt, signedInAt: signedInAt, nonce: parts[4])
            code = parts[5]
        }

        private static func time(_ text: String) -> Date? {
            UInt32(text).map { Date(timeIntervalSince1970: TimeInterval($0)) }
        }

        func isProved(by digest: [UInt8]) -> Bool { ConstantTime.areEqual(code, session.code(digest)) }
    }

    private static let version = "1"

    private var claim: String {
        [
            Self.version, holder, String(Int64(signedInAt.timeIntervalSince1970)),
            String(Int64(seenAt.timeIntervalSince1970)), nonce,
        ].joined(separator: ".")
    }

    /// - Parameter digest: The stored SHA-256 of the key's secret.
    func sealed(by digest: [UInt8]) -> String { "\(claim).\(code(digest))" }

    private func code(_ digest: [UInt8]) -> String {
        Hexadecimal.encode(SignInSettings.code("pushreg console session\n\(claim)", digest))
    }

    /// 128 random bits in hex.
    static func makeNonce() -> String { Hexadecimal.encode((0..<16).map { _ in UInt8.random(in: .min ... .max) }) }
}

/// A form field that proves that a page of the console sent the form.
enum FormToken {
    static let field = "form"

    static func make(from nonce: String) -> String {
        Hexadecimal.encode(Array(SHA256.hash(data: Data("pushreg console form\n\(nonce)".utf8))))
    }
}

/// A cookie that scripts cannot read and other sites' pages do not send.
struct ConsoleCookie: Sendable, Hashable {
    enum Purpose: String, Sendable {
        case session = "pushreg-console"
        /// Ties the sign-in form to its browser.
        case signIn = "pushreg-sign-in"
        /// Ties a sign-in with the identity provider to its browser, which sends it on the way back from there, too.
        case attempt = "pushreg-provider"
    }

    let purpose: Purpose
    /// Adds a prefix to the name, so that other hosts and plain HTTP cannot set the cookie over TLS.
    let isSecure: Bool

    var name: String { (isSecure ? "__Host-" : "") + purpose.rawValue }

    /// The first value. Browsers send the best match first, and only other clients send several.
    func value(in fields: HTTPFields) -> String? {
        let start = Array("\(name)=".utf8)
        for field in fields[values: .cookie] {
            // Compares bytes, because comparing characters is far slower and a request can have many cookies.
            for pair in field.utf8.split(separator: UInt8(ascii: ";")) {
                let pair = pair.drop { $0 == UInt8(ascii: " ") }
                if pair.starts(with: start) { return String(Substring(pair.dropFirst(start.count))) }
            }
        }
        return nil
    }

    /// Expires with the browser's session or after `seconds`.
    func setting(_ value: String, seconds: Int) -> HTTPField {
        let (path, secure) = isSecure ? ("/", "; Secure") : ("/console", "")
        let rules = "HttpOnly; SameSite=\(purpose == .attempt ? "Lax" : "Strict")\(secure)"
        return HTTPField(name: .setCookie, value: "\(name)=\(value); Path=\(path); Max-Age=\(seconds); \(rules)")
    }

    var removal: HTTPField { setting("", seconds: 0) }
}
