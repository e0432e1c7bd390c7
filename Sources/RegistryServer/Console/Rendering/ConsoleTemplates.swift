import Crypto
import Foundation
import Mustache
import RegistryCore

/// The templates of the console, parsed once, and the files that its pages load.
enum ConsoleTemplates {
    /// The pages and what they share, by name.
    private static let sources: [String: [UInt8]] = [
        "layout": PackageResources.layout_mustache,
        "sign-in": PackageResources.sign_in_mustache, "problem": PackageResources.problem_mustache,
        "apps": PackageResources.apps_mustache, "overview": PackageResources.overview_mustache,
        "chart": PackageResources.chart_mustache, "search": PackageResources.search_mustache,
        "search-guide": PackageResources.search_guide_mustache,
        "activity": PackageResources.activity_mustache, "alias": PackageResources.alias_mustache,
        "activity-rows": PackageResources.activity_rows_mustache,
        "token-rows": PackageResources.token_rows_mustache, "event-rows": PackageResources.event_rows_mustache,
        "stale": PackageResources.stale_mustache,
        "stale-rows": PackageResources.stale_rows_mustache, "purge": PackageResources.purge_mustache,
        "installations": PackageResources.installations_mustache,
        "installation": PackageResources.installation_mustache, "channels": PackageResources.channels_mustache,
        "keys": PackageResources.keys_mustache, "system": PackageResources.system_mustache,
        "moment": PackageResources.moment_mustache, "timeline": PackageResources.timeline_mustache,
    ]

    private static let library: MustacheLibrary = {
        MustacheContentTypes.register(EscapedByScalar(), named: "SCALARS")
        var library = MustacheLibrary()
        for (name, bytes) in sources {
            // Each begins with how it escapes, for the library goes back to its own way with every template.
            let text = "{{% CONTENT_TYPE:SCALARS}}" + String(decoding: bytes, as: UTF8.self)
            do {
                try library.register(text, named: name)
            } catch {
                // They are part of the program, and every one is rendered by a test.
                preconditionFailure("the template \(name) cannot be parsed: \(error)")
            }
        }
        return library
    }()

    /// The whole page.
    static func render(_ name: String, _ fields: Fields) -> String {
        library.render(fields, withTemplate: name) ?? ""
    }

    /// The files that pages load, by name: media type and content.
    static let assets: [String: (type: String, bytes: [UInt8])] = [
        "console.css": ("text/css; charset=utf-8", PackageResources.console_css),
        "console.js": ("text/javascript; charset=utf-8", PackageResources.console_js),
        "icon.svg": ("image/svg+xml", PackageResources.icon_svg),
    ]

    /// Names these files' content, so that browsers may keep them for ever.
    static let assetsVersion: String = {
        let all = assets.sorted { $0.key < $1.key }.flatMap(\.value.bytes)
        return Hexadecimal.encode(Array(SHA256.hash(data: all).prefix(6)))
    }()
}

/// Escapes what HTML gives a meaning, scalar by scalar.
///
/// The library's own way looks at characters, and a quotation mark with an accent upon it is another character than a
/// quotation mark, yet ends an attribute all the same.
private struct EscapedByScalar: MustacheContentType {
    func escapeText(_ text: String) -> String {
        var escaped = ""
        escaped.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "&": escaped += "&amp;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
