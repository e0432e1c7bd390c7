import Foundation
import RegistryCore
import RegistryStore

struct ConsoleLink: Sendable {
    /// Of the pages of one scope.
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

    /// The overview has no name.
    func page(_ name: String = "", _ query: [(String, String?)] = []) -> String {
        base + (name.isEmpty ? "" : "/" + name) + Self.query(query)
    }

    func search(_ text: String) -> String { page("search", [("q", text)]) }

    /// `?a=b&c=d`, without nil values.
    static func query(_ parameters: [(String, String?)]) -> String {
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
