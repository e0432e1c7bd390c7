import Foundation
import Mustache
import RegistryCore

/// A value in a template, written for people: `1,234`, `3 min`, bytes in hex. A time has `ago` and other members.
///
/// A member without a value is null, so that `{{#name}}` tests for presence. Mustache looks up unknown members in the
/// enclosing context.
struct TemplateValue: MustacheParent, MustacheCustomRenderable, MustacheTransformable {
    private let value: Any?
    private let now: Date

    init(_ value: Any?, now: Date) {
        self.value = value
        self.now = now
    }

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
        if let time = value as? Date { return moment(time, name) }
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
        case .optional: return mirror.children.first.map { shown($0.value) } ?? TemplateValue(nil, now: now)
        case .collection where type(of: value) != [UInt8].self:
            return mirror.children.map { TemplateValue($0.value, now: now) }
        default: return value is Bool ? value : TemplateValue(value, now: now)
        }
    }

    /// `{{encoded(name)}}` is for paths and queries, `{{bytes(name)}}` for sizes.
    func transform(_ name: String) -> Any? {
        switch name {
        case "encoded": TemplateValue(ConsoleLink.encoded(renderText), now: now)
        case "bytes": (value as? Int).map(DisplayText.bytes)
        default: nil
        }
    }
}
