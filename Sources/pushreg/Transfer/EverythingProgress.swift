import Foundation
import RegistryCore

/// How far an import of everything has come, kept in a file beside the one that is imported for as long as it is not done.
struct EverythingProgress: Sendable, Hashable {
    /// The database that it goes into.
    let database: String
    /// The file, as it was then.
    let file: FileState
    /// The app's number in the database. Nobody sees the rows that it has so far.
    let number: Int64
    /// All lines up to here are done: their number, and where the next one begins.
    var line = 0
    var offset = 0

    init(database: String, file: FileState, number: Int64) {
        (self.database, self.file, self.number) = (database, file, number)
    }

    /// Reads the progress that was kept; nil when there is none.
    init?(at place: String) {
        guard let text = try? String(contentsOfFile: place, encoding: .utf8),
            let json = try? JSONParser.parse(text), case .string(let database) = json["database"],
            case .integer(let size) = json["size"], case .integer(let modified) = json["modified"],
            case .integer(let number) = json["number"], case .integer(let line) = json["line"],
            case .integer(let offset) = json["offset"]
        else { return nil }
        let file = FileState(size: Int(size), modified: Int(modified))
        self.init(database: database, file: file, number: Int64(number))
        (self.line, self.offset) = (Int(line), Int(offset))
    }
}

extension EverythingProgress: JSONEncodable {
    func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("database", database)
            json.member("size", file.size)
            json.member("modified", file.modified)
            json.member("number", Int(number))
            json.member("line", line)
            json.member("offset", offset)
        }
    }
}
