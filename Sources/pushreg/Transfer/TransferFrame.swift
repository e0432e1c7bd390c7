import RegistryCore
import RegistryStore

/// A line of an export other than a record.
enum TransferFrame: Sendable, Hashable, JSONObjectEncodable {
    case header(app: String, environment: String, version: Int)
    /// The last line, with the number of records. A file without it is incomplete.
    case end(count: Int)

    static let version = 1

    static func header(of scope: Scope) -> TransferFrame {
        .header(app: scope.app.bundleID.rawValue, environment: scope.environment.rawValue, version: version)
    }

    private static let beginnings = ["{\"export\"", "{\"end\""].map { Array($0.utf8) }

    /// Nil for records, which are most lines and not parsed, and for unknown lines.
    init?(_ line: [UInt8]) {
        let text = line.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        guard Self.beginnings.contains(where: { text.starts(with: $0) }), let json = try? JSONParser.parse(line) else {
            return nil
        }
        if let header = json["export"], let app = header["app"]?.string,
            let environment = header["environment"]?.string, case .integer(let version) = header["version"]
        {
            self = .header(app: app, environment: environment, version: Int(version))
        } else if json["end"] == .bool(true), case .integer(let count) = json["count"] {
            self = .end(count: Int(count))
        } else {
            return nil
        }
    }

    func writeMembers(to json: inout JSONWriter) {
        switch self {
        case .header(let app, let environment, let version):
            json.object("export") { json in
                json.member("version", version)
                json.member("app", app)
                json.member("environment", environment)
            }
        case .end(let count):
            json.member("end", true)
            json.member("count", count)
        }
    }
}
