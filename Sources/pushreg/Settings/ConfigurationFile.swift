import Foundation
import RegistryCore
import RegistryServer

/// A JSON object with the keys of ``Setting/all``.
struct ConfigurationFile: Sendable {
    let path: String
    let values: [Setting: JSONValue]

    /// A `null` member counts as absent.
    ///
    /// - Throws: A ``CommandFailure`` if the file is not a readable JSON object, or has an unknown key, because a
    ///   misspelt setting must not silently become its default.
    init(_ path: String) throws(CommandFailure) {
        var values: [Setting: JSONValue] = [:]
        for (key, value) in try Self.object(path) where value != .null {
            guard let setting = Setting.all.first(where: { $0.rawValue == key }) else {
                let known = Setting.all.map(\.rawValue).joined(separator: ", ")
                throw CommandFailure(
                    .usage,
                    "The config file \(path) has the unknown key \"\(key)\". Known keys: \(known)."
                )
            }
            values[setting] = value
        }
        (self.path, self.values) = (path, values)
    }

    static func name(of setting: Setting, in path: String) -> String { "\"\(setting.rawValue)\" in \(path)" }

    private static func object(_ path: String) throws(CommandFailure) -> JSONObject {
        let text = try text(path)
        do throws(JSONSyntaxError) {
            if case .object(let object) = try JSONParser.parse(text) { return object }
        } catch {
            let line = 1 + text.utf8.prefix(error.offset).count { $0 == UInt8(ascii: "\n") }
            throw CommandFailure(.usage, "The config file \(path) is not JSON: line \(line): \(error.detail)")
        }
        throw CommandFailure(.usage, "The config file \(path) must be one JSON object.")
    }

    private static func text(_ path: String) throws(CommandFailure) -> String {
        if let file = UnreadableFile(path) {
            let status = file.code == EACCES ? CommandFailure.Status.notPermitted : .usage
            throw CommandFailure(status, "The config file \(path) cannot be read: \(file.reason).")
        }
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw CommandFailure(.usage, "The config file \(path) is not UTF-8 text.")
        }
        return text.hasPrefix("\u{FEFF}") ? String(text.dropFirst()) : text
    }
}
