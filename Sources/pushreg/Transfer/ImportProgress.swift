import Foundation
import RegistryCore
import RegistryStore

/// How far an import of a file has come, kept in a file beside it for as long as it is not done.
struct ImportProgress: Sendable, Hashable {
    /// Which file, as it was then, into which app of which database.
    struct Subject: Sendable, Hashable {
        let app: String
        let environment: String
        /// The app's id and the time of its creation, which differ in another database.
        let registry: String
        /// The size of the file in bytes.
        let size: Int
        /// The time of the file's last change, in microseconds since the reference date.
        let modified: Int

        /// - Returns: nil if the path is not a regular file, which alone can be read again.
        init?(_ scope: Scope, _ path: String) {
            let place = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
            guard let attributes = try? FileManager.default.attributesOfItem(atPath: place),
                attributes[.type] as? FileAttributeType == .typeRegular, let size = attributes[.size] as? Int,
                let modified = attributes[.modificationDate] as? Date
            else { return nil }
            app = scope.app.bundleID.rawValue
            environment = scope.environment.rawValue
            registry = "\(scope.app.id)/\(RFC3339.format(scope.app.createdAt, precision: .microseconds))"
            self.size = size
            self.modified = Int(modified.timeIntervalSinceReferenceDate * 1_000_000)
        }
    }

    let subject: Subject
    /// All lines up to here are done: their number, and where the next one begins.
    var line = 0
    var offset = 0
    /// How many of them were no records.
    var faulty = 0

    /// Reads the progress that was kept; nil when there is none, or it is about something else.
    init?(at place: String, about subject: Subject) {
        guard let text = try? String(contentsOfFile: place, encoding: .utf8),
            let json = try? JSONParser.parse(text), case .integer(let line) = json["line"],
            case .integer(let offset) = json["offset"], case .integer(let faulty) = json["faulty"]
        else { return nil }
        self.init(subject: subject)
        (self.line, self.offset, self.faulty) = (Int(line), Int(offset), Int(faulty))
        // Written the same way it is the same text, or it is about something else.
        guard jsonLine == text else { return nil }
    }

    init(subject: Subject) { self.subject = subject }
}

extension ImportProgress: JSONEncodable {
    func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("app", subject.app)
            json.member("environment", subject.environment)
            json.member("registry", subject.registry)
            json.member("size", subject.size)
            json.member("modified", subject.modified)
            json.member("line", line)
            json.member("offset", offset)
            json.member("faulty", faulty)
        }
    }
}
