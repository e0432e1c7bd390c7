import Crypto
import Foundation
import HTTPTypes
import Mustache
import RegistryCore

/// Parsed templates that can include each other by name.
struct PageTemplates: Sendable {
    private let library: MustacheLibrary

    init(_ sources: [String: [UInt8]]) {
        MustacheContentTypes.register(HTML(), named: "SCALARS")
        var library = MustacheLibrary()
        for (name, bytes) in sources {
            // Sets the escaping in each template, because the library resets it.
            let text = "{{% CONTENT_TYPE:SCALARS}}" + String(decoding: bytes, as: UTF8.self)
            do {
                try library.register(text, named: name)
            } catch { preconditionFailure("the template \(name) cannot be parsed: \(error)") }
        }
        self.library = library
    }

    func render(_ name: String, _ fields: TemplateContext, now: Date) -> [UInt8] {
        Array((library.render(TemplateValue(value: fields, now: now), withTemplate: name) ?? "").utf8)
    }
}

extension Response {
    /// A page that can only load files of this service.
    ///
    /// - Parameter target: The places to which its forms can be sent, such as `'none'`.
    static func html(_ page: [UInt8], status: HTTPResponse.Status = .ok, formsTo target: String) -> Response {
        let policy = """
            default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; frame-ancestors 'none'; \
            base-uri 'none'; form-action \(target)
            """
        let fields: HTTPFields = [.contentType: "text/html; charset=utf-8", .contentSecurityPolicy: policy]
        return Response(status: status, fields: fields, body: .bytes(page))
    }
}

struct HTML: MustacheContentType {
    func escapeText(_ text: String) -> String { Self.escape(text) }

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

/// The fields of a page. Templates also read the properties of a field's value, as in `{{app.bundleID}}`.
struct TemplateContext: Sendable, ExpressibleByDictionaryLiteral {
    private(set) var fields: [String: (any Sendable)?] = [:]

    init(dictionaryLiteral elements: (String, (any Sendable)?)...) {
        for (name, value) in elements { fields[name] = .some(value) }
    }

    mutating func add(_ others: TemplateContext) { fields.merge(others.fields) { $1 } }
}

/// A record with computed properties that templates read. Templates read stored properties of every record.
protocol Presentable {
    typealias Properties = [String: PartialKeyPath<Self>]

    static var computed: Properties { get }
}

extension Presentable {
    func computed(_ name: String) -> Any? { Self.computed[name].map { self[keyPath: $0] } }
}

/// A value in a template, written for people: `1,234`, `3 min`, bytes in hex. A time has `ago` and other members.
///
/// A member without a value is null, so that `{{#name}}` tests for presence. Mustache looks up unknown members in the
/// enclosing context.
struct TemplateValue: MustacheParent, MustacheCustomRenderable, MustacheTransformable {
    let value: Any?
    let now: Date

    var isNull: Bool { value == nil }

    var renderText: String {
        switch value {
        case nil: ""
        case let number as any BinaryInteger: DisplayText.count(Int(number))
        case let duration as Duration: DisplayText.span(duration)
        case let bytes as [UInt8]: Hexadecimal.encode(bytes)
        case let word as any RawRepresentable: "\(word.rawValue)"
        case let value?: "\(value)"
        }
    }

    func child(named name: String) -> Any? {
        if let member = member(name) { return shown(member) }
        // `hasRows` tests for rows.
        guard name.hasPrefix("has") else { return nil }
        let tested = name.dropFirst(3)
        return switch member(tested.prefix(1).lowercased() + tested.dropFirst()).map(shown) {
        case nil: nil
        case let rows as [TemplateValue]: !rows.isEmpty
        case let value: !((value as? TemplateValue)?.isNull ?? false)
        }
    }

    private func member(_ name: String) -> Any? {
        if let context = value as? TemplateContext { return context.fields[name].map { $0 as Any } }
        if let time = value as? Date ?? (value as? Timestamp)?.date { return moment(time, name) }
        if let property = (value as? any Presentable)?.computed(name) { return property }
        return value.flatMap { Mirror(reflecting: $0).descendant(name) }
    }

    private func moment(_ time: Date, _ name: String) -> Any? {
        switch name {
        case "iso": RFC3339.format(time)
        case "utc": DisplayText.clock(time) + " UTC"
        case "ago": DisplayText.distance(of: time, from: now)
        case "isToCome": time > now
        default: nil
        }
    }

    private func shown(_ value: Any) -> Any {
        let mirror = Mirror(reflecting: value)
        switch mirror.displayStyle {
        case .optional: return mirror.children.first.map { shown($0.value) } ?? TemplateValue(value: nil, now: now)
        case .collection where type(of: value) != [UInt8].self:
            return mirror.children.map { TemplateValue(value: $0.value, now: now) }
        default: return value is Bool ? value : TemplateValue(value: value, now: now)
        }
    }

    /// `{{encoded(name)}}` is for paths and queries, `{{bytes(name)}}` for sizes, `{{words(name)}}` for codes.
    func transform(_ name: String) -> Any? {
        switch name {
        case "encoded": TemplateValue(value: ConsoleLink.encoded(renderText), now: now)
        case "bytes": (value as? Int).map(DisplayText.bytes)
        case "words": TemplateValue(value: renderText.replacing("-", with: " "), now: now)
        default: nil
        }
    }
}

/// The address contains a hash of the files, so that browsers can cache them forever.
struct PageAssets: Sendable {
    private let files: [String: [UInt8]]
    /// Such as `/docs/assets/9f1c2d3e4b5a`.
    let address: String

    init(below base: String, _ files: [String: [UInt8]]) {
        self.files = files
        let all = files.sorted { $0.key < $1.key }.flatMap(\.value)
        address = base + "/" + Hexadecimal.encode(Array(SHA256.hash(data: all).prefix(6)))
    }

    /// Files of another version, requested from another release, are not cacheable.
    func response(_ name: String, version: String) throws(Problem) -> Response {
        guard let bytes = files[name] else { throw Problem(.noSuchRoute, "The file does not exist.") }
        let isCurrent = address.hasSuffix("/" + version)
        return Response(
            fields: [
                .contentType: Self.type(of: name),
                .cacheControl: isCurrent ? "public, max-age=31536000, immutable" : "no-store",
            ],
            body: .bytes(bytes)
        )
    }

    static func type(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "svg": "image/svg+xml"
        default: "application/octet-stream"
        }
    }
}
