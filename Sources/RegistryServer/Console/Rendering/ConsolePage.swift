import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore
import WebAssets

extension Response {
    static func page(
        _ template: String,
        _ fields: TemplateContext,
        status: HTTPResponse.Status = .ok,
        now: Date = Date()
    ) -> Response {
        var all: TemplateContext = ["assets": ConsoleTemplates.assets.address]
        all.add(fields)
        return .html(ConsoleTemplates.pages.render(template, all, now: now), status: status, formsTo: "'self'")
    }

    static func page(of problem: Problem) -> Response {
        let status = HTTPResponse.Status(code: problem.code.status)
        var page = page(
            "problem",
            [
                "pageTitle": problem.code.title, "status": status.code, "code": problem.code,
                "sentence": problem.code == .noSuchRoute ? "The console has no such page." : problem.detail,
                "faults": problem.errors.map { (place: $0.pointer.dropFirst(), detail: $0.detail) },
            ],
            status: status
        )
        // Keeps fields such as `Retry-After`. Without `WWW-Authenticate`, the browser shows no password dialog.
        let own: Set<HTTPField.Name> = [.contentType, .wwwAuthenticate]
        page.fields.append(contentsOf: problem.fields.filter { !own.contains($0.name) })
        return page
    }
}

extension ConsoleCall {
    /// In navigation order, with the last part of the path and the templates.
    private static let parts: [(label: String, path: String, templates: [String])] = [
        ("Overview", "", ["overview"]),
        ("Search", "search", ["search", "activity", "alias"]), ("Stale", "stale", ["stale", "purge"]),
        ("Installations", "installations", ["installations", "installation"]), ("Channels", "channels", ["channels"]),
        ("Keys and apps", "keys", ["keys"]), ("System", "system", ["system"]),
    ]

    /// - Parameter title: By default the label of the template's part.
    func page(
        _ template: String,
        title: String? = nil,
        status: HTTPResponse.Status = .ok,
        _ fields: TemplateContext
    ) throws -> Response {
        let (scope, link) = (try scope, try link)
        let part = Self.parts.first { $0.templates.contains(template) }
        let title = title ?? part?.label ?? ""
        var all = frame
        all.add([
            "pageTitle": "\(title) · \(scope.app.bundleID)", "heading": title, "scope": scope, "base": link.base,
            "scopeName": scope.app.settings.name ?? scope.app.bundleID.rawValue, "isRoot": isRoot,
            "environments": APNSEnvironment.allCases.map { environment in
                let path = ConsoleLink(scope.app.bundleID, environment).page(part?.path ?? "")
                return (name: environment, path: path, isChosen: environment == scope.environment)
            },
            "nav": Self.parts.map { (label: $0.label, path: link.page($0.path), isHere: $0.path == part?.path) },
        ])
        all.add(fields)
        return .page(template, all, status: status, now: now)
    }

    var frame: TemplateContext {
        [
            "who": principal.who, "role": principal.role, "formToken": visit.formToken,
            "isSignedIn": visit.session != nil, "isPerson": !visit.grants.isEmpty,
            "isInsecure": principal == .insecure,
        ]
    }
}

enum ConsoleTemplates {
    static let pages = PageTemplates(WebAssets.consoleTemplates)
    static let assets = PageAssets(below: "/console/assets", WebAssets.consoleFiles)
}

struct ConsoleLink: Sendable {
    typealias Parameter = (name: String, value: String?)

    let base: String

    static let home = "/console"
    static let signIn = "/console/sign-in"
    static let signOut = "/console/sign-out"
    static let provider = "/console/sign-in/provider"
    static let callback = "/console/sign-in/callback"

    init(_ scope: Scope) { self.init(scope.app.bundleID, scope.environment) }

    init(_ bundleID: BundleID, _ environment: APNSEnvironment) {
        base = "/console/\(Self.encoded(bundleID.rawValue))/\(environment.rawValue)"
    }

    func page(_ name: String = "", _ query: [Parameter] = []) -> String {
        base + (name.isEmpty ? "" : "/" + name) + Self.query(query)
    }

    func search(_ text: String) -> String { page("search", [("q", text)]) }

    /// `?a=b&c=d`, without nil values.
    static func query(_ parameters: [Parameter]) -> String {
        let pairs = parameters.compactMap { name, value in value.map { "\(name)=\(encoded($0))" } }
        return pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&")
    }

    /// Keeps only RFC 3986's unreserved characters.
    static func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    )

    static func isOfConsole(_ path: String) -> Bool {
        path == home || path.hasPrefix(home + "/") || path.hasPrefix(home + "?")
    }

    /// For an untrusted text: whether it is a path of the console and cannot lead elsewhere.
    static func isOwn(_ path: String) -> Bool {
        isOfConsole(path) && path.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }
            // Browsers resolve these, so that the path would leave the console.
            && path.prefix { $0 != "?" }.firstMatch(of: /\/(\.|%2[Ee]){2}(\/|$)/) == nil
    }
}

enum DisplayText {
    /// `1,234,567`
    static func count(_ number: Int) -> String { number.formatted(.number.locale(Locale(identifier: "en_US"))) }

    /// `1 token`, `2 tokens`
    static func count(_ number: Int, _ noun: String, _ plural: String? = nil) -> String {
        "\(count(number)) \(number == 1 ? noun : plural ?? noun + "s")"
    }

    /// `12.3 MB`
    static func bytes(_ count: Int) -> String {
        let units = ["bytes", "kB", "MB", "GB", "TB"]
        var (size, unit) = (Double(count), 0)
        while size >= 1000, unit < units.count - 1 { (size, unit) = (size / 1000, unit + 1) }
        return unit == 0 ? "\(count) bytes" : String(format: size < 10 ? "%.1f %@" : "%.0f %@", size, units[unit])
    }

    /// `3 min`, `2 h`, `5 d`: the largest non-zero unit.
    static func span(_ duration: Duration) -> String {
        let seconds = duration / .seconds(1)
        return switch seconds {
        case ..<1: "under 1 s"
        case ..<60: "\(Int(seconds)) s"
        case ..<3600: "\(Int(seconds / 60)) min"
        case ..<(48 * 3600): "\(Int(seconds / 3600)) h"
        default: "\(Int(seconds / 86_400)) d"
        }
    }

    /// `3 min ago`, `in 2 h`
    static func distance(of time: Date, from now: Date) -> String {
        let age = Duration.seconds(now.timeIntervalSince(time))
        return age >= .zero ? "\(span(age)) ago" : "in \(span(.zero - age))"
    }

    /// `2026-11-21 22:46:03`, in UTC.
    static func clock(_ time: Date) -> String {
        String(RFC3339.format(time).prefix(19)).replacingOccurrences(of: "T", with: " ")
    }

    /// `50 %`
    static func share(_ part: Int, of whole: Int) -> String {
        guard whole > 0 else { return "0 %" }
        let percent = 100 * Double(part) / Double(whole)
        return percent > 0 && percent < 1 ? "under 1 %" : "\(Int(percent.rounded())) %"
    }
}

extension TokenFacts: Presentable {
    static var computed: Properties { ["sentence": \.sentence] }
}

extension ExplainedLease: Presentable {
    static var computed: Properties { ["sentence": \.sentence] }
}

extension InstallationHash: Presentable {
    static var computed: Properties { ["short": \.short] }

    /// Enough digits for people to distinguish installations.
    var short: String { String(description.prefix(12)) }
}
