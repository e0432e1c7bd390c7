import Foundation
import RegistryCore

/// An argument that is JSON, or names a file that holds it.
enum JSONArgument {
    /// Reads the object that a flag gives.
    ///
    /// - Parameter argument: the JSON text, or `@` and the name of a file.
    /// - Throws: a ``CommandFailure`` that names the flag, when there is no such file, or in it no JSON object.
    static func object(_ flag: String, _ argument: String?) throws(CommandFailure) -> JSONObject? {
        guard let argument else { return nil }
        let text = argument.hasPrefix("@") ? try file(flag, String(argument.dropFirst())) : Data(argument.utf8)
        let json: JSONValue
        do throws(JSONSyntaxError) {
            json = try JSONParser.parse(text)
        } catch {
            throw CommandFailure(.usage, "\(flag) is not JSON. \(error)")
        }
        guard case .object(let object) = json else {
            throw CommandFailure(.usage, "\(flag) must be a JSON object, such as {\"minutes\": 7}.")
        }
        return object
    }

    /// Reads the file that a flag names.
    ///
    /// - Throws: a ``CommandFailure`` that names the flag and says why the file cannot be read.
    static func file(_ flag: String, _ path: String) throws(CommandFailure) -> Data {
        do {
            return try Data(contentsOf: URL(fileURLWithPath: path))
        } catch CocoaError.fileReadNoPermission {
            throw CommandFailure(.notPermitted, "\(flag): this user may not read \(path).")
        } catch {
            throw CommandFailure(.usage, "\(flag): \(path) is no file that can be read.")
        }
    }
}
