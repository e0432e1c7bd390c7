import Foundation
import HTTPTypes
import Mustache

/// Parsed templates that can include each other by name.
struct PageTemplates: Sendable {
    private let library: MustacheLibrary

    init(_ sources: [String: [UInt8]]) {
        MustacheContentTypes.register(EscapedByScalar(), named: "SCALARS")
        var library = MustacheLibrary()
        for (name, bytes) in sources {
            // Sets the escaping in each template, because the library resets it.
            let text = "{{% CONTENT_TYPE:SCALARS}}" + String(decoding: bytes, as: UTF8.self)
            do {
                try library.register(text, named: name)
            } catch {
                preconditionFailure("the template \(name) cannot be parsed: \(error)")
            }
        }
        self.library = library
    }

    func render(_ name: String, _ fields: TemplateContext, now: Date) -> [UInt8] {
        Array((library.render(TemplateValue(fields, now: now), withTemplate: name) ?? "").utf8)
    }
}

extension Response {
    /// A page that can only load files of this service.
    ///
    /// - Parameter target: The places to which its forms can be sent, such as `'none'`.
    static func html(_ page: [UInt8], status: HTTPResponse.Status = .ok, formsTo target: String) -> Response {
        var response = Response(status: status, fields: [.contentType: "text/html; charset=utf-8"], body: .bytes(page))
        response.contentPolicy = """
            default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; frame-ancestors 'none'; \
            base-uri 'none'; form-action \(target)
            """
        return response
    }
}

private struct EscapedByScalar: MustacheContentType {
    func escapeText(_ text: String) -> String { HTML.escape(text) }
}

enum HTML {
    /// Escapes Unicode scalars, not characters: a quotation mark with a combining accent is a different character, but
    /// still ends an attribute.
    static func escape(_ text: some StringProtocol) -> String {
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
