import Foundation
import RegistryCore
import RegistryStore

/// The progress of an interrupted import, in a file next to the imported file.
struct ImportProgress: Sendable, Hashable {
    /// The state of the imported file, and the app that it is imported into.
    struct Subject: Sendable, Hashable {
        let app: String
        let environment: String
        /// The app's id and creation time, which differ between databases.
        let registry: String
        /// In bytes.
        let size: Int
        /// In microseconds since 2001-01-01 (Foundation's reference date).
        let modified: Int

        /// Nil unless the path is a regular file. Others cannot be read again.
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
    /// All earlier lines are done: their number, and the byte position of the next one.
    var line = 0
    var offset = 0
    /// How many of these lines were malformed.
    var faulty = 0

    /// Nil if the file is missing or about another subject.
    init?(at place: String, about subject: Subject) {
        guard let text = try? String(contentsOfFile: place, encoding: .utf8),
            let json = try? JSONParser.parse(text), case .integer(let line) = json["line"],
            case .integer(let offset) = json["offset"], case .integer(let faulty) = json["faulty"]
        else { return nil }
        self.init(subject: subject)
        (self.line, self.offset, self.faulty) = (Int(line), Int(offset), Int(faulty))
        // Comparing the text also compares the subject.
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
