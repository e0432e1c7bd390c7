import Foundation
import Logging
import RegistryCore

/// Writes each event as one line to standard error: JSON, or text for terminals.
struct LineLogHandler: LogHandler {
    enum Style: Sendable {
        case json
        case text
        static var automatic: Style { Output.errors.isTerminal ? .text : .json }
    }

    let label: String
    let style: Style
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var all = metadata.merging(metadataProvider?.get() ?? [:]) { $1 }.merging(event.metadata ?? [:]) { $1 }
        if let error = event.error { all["error"] = "\(error)" }
        switch style {
        case .json: Output.errors.note(jsonLine(event, all))
        case .text: Output.errors.note(textLine(event, all))
        }
    }

    private func jsonLine(_ event: LogEvent, _ metadata: Logger.Metadata) -> String {
        var members: [(String, JSONValue)] = [
            ("time", .string(RFC3339.format(Date()))), ("level", .string(event.level.rawValue)),
            ("logger", .string(label)), ("message", .string(event.message.description)),
        ]
        let taken = Set(members.map(\.0))
        members += metadata.sorted { $0.key < $1.key }.filter { !taken.contains($0.key) }.map {
            ($0.key, $0.value.json)
        }
        return JSONObject(members).jsonLine
    }

    private func textLine(_ event: LogEvent, _ metadata: Logger.Metadata) -> String {
        let rest = metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value.words)" }.joined()
        return "\(RFC3339.format(Date())) \(event.level.rawValue): \(event.message)\(rest.isEmpty ? "" : " ")\(rest)"
    }
}

extension Logger {
    static func lines(style: LineLogHandler.Style = .automatic, level: Logger.Level) -> Logger {
        Logger(label: "pushreg") { LineLogHandler(label: $0, style: style, logLevel: level) }
    }
}

extension Logger.MetadataValue {
    fileprivate var json: JSONValue {
        switch self {
        case .string(let text): .string(text)
        case .stringConvertible(let value): .string(value.description)
        case .array(let values): .array(values.map(\.json))
        case .dictionary(let members):
            .object(JSONObject(members.sorted { $0.key < $1.key }.map { ($0.key, $0.value.json) }))
        }
    }

    fileprivate var words: String {
        switch self {
        case .array(let values): values.map(\.words).joined(separator: ",")
        default: description
        }
    }
}
