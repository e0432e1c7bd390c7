import Configuration
import Foundation
import RegistryCore

/// The config file: one JSON object, whose keys are those of ``Setting/all``.
enum ConfigurationFile {
    /// Reads the file. A member that is `null` counts as left out.
    ///
    /// - Throws: a ``CommandFailure`` when it cannot be read, is no JSON object, or holds an unknown key or a value of the
    ///   wrong kind: what is misspelt must not fall back to a default in silence.
    static func read(_ path: String) throws(CommandFailure) -> [Setting: ConfigContent] {
        var contents: [Setting: ConfigContent] = [:]
        for (key, value) in try object(path) where value != .null {
            guard let setting = Setting.all.first(where: { $0.key == key }) else {
                let known = Setting.all.map(\.key).joined(separator: ", ")
                throw CommandFailure(
                    .usage,
                    "The config file \(path) holds the unknown key \"\(key)\"; known are \(known)."
                )
            }
            guard let content = content(value, setting.type) else {
                let name = setting.name(in: .file(path: path))
                throw CommandFailure(.usage, "\(name) must be \(setting.type.requirement).")
            }
            contents[setting] = content
        }
        return contents
    }

    private static func object(_ path: String) throws(CommandFailure) -> JSONObject {
        let text = try text(path)
        do {
            guard case .object(let object) = try JSONParser.parse(text) else {
                throw CommandFailure(.usage, "The config file \(path) must hold one JSON object.")
            }
            return object
        } catch let error as JSONSyntaxError {
            let line = 1 + text.utf8.prefix(error.offset).count { $0 == UInt8(ascii: "\n") }
            throw CommandFailure(.usage, "The config file \(path) is not JSON: line \(line): \(error.detail)")
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure(.usage, "The config file \(path) could not be read.")
        }
    }

    private static func text(_ path: String) throws(CommandFailure) -> String {
        do {
            return try String(contentsOfFile: path, encoding: .utf8)
        } catch CocoaError.fileReadNoPermission {
            throw CommandFailure(.notPermitted, "The config file \(path) may not be read by this user.")
        } catch {
            throw CommandFailure(.usage, "The config file \(path) is not there, or is no text in UTF-8.")
        }
    }

    private static func content(_ value: JSONValue, _ type: ConfigType) -> ConfigContent? {
        switch (value, type) {
        case (.string(let text), .string): .string(text)
        case (.integer(let number), .int): Int(exactly: number).map { .int($0) }
        case (.bool(let isTrue), .bool): .bool(isTrue)
        default: nil
        }
    }
}
