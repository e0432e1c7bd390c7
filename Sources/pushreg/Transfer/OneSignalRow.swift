import Foundation
import RegistryCore

/// A column that an import needs of OneSignal's many.
enum OneSignalColumn: String, CaseIterable {
    case id
    case identifier
    case deviceType = "device_type"
    case lastActive = "last_active"
    case invalidIdentifier = "invalid_identifier"
    case externalUserID = "external_user_id"
}

/// The places of the columns, as the first row names them.
struct OneSignalColumns {
    private let places: [OneSignalColumn: Int]
    private let count: Int

    /// - Throws: a ``CommandFailure`` that names what is missing.
    init(_ header: CSVReader.Record) throws(CommandFailure) {
        guard case .success(let fields) = header.fields else {
            throw CommandFailure(.usage, "The first line must name the columns, separated by commas.")
        }
        let names = fields.map { String(decoding: $0, as: UTF8.self) }
        let missing = OneSignalColumn.allCases.map(\.rawValue).filter { !names.contains($0) }
        guard missing.isEmpty else {
            throw CommandFailure(
                .usage,
                """
                The first line names no column \(missing.joined(separator: ", ")). external_user_id is in OneSignal's \
                export only where "extra_fields" asks for it.
                """
            )
        }
        for column in OneSignalColumn.allCases where names.count(where: { $0 == column.rawValue }) > 1 {
            throw CommandFailure(.usage, "The first line names the column \(column.rawValue) more than once.")
        }
        count = names.count
        places = Dictionary(
            uniqueKeysWithValues: OneSignalColumn.allCases.compactMap { column in
                names.firstIndex(of: column.rawValue).map { (column, $0) }
            }
        )
    }

    /// Reads the columns of a row.
    ///
    /// - Throws: what is wrong with it.
    func row(_ record: CSVReader.Record) throws(RowFault) -> OneSignalRow {
        let fields: [[UInt8]]
        switch record.fields {
        case .success(let read): fields = read
        case .failure(let fault): throw .faulty(fault.sentence)
        }
        guard fields.count == count else {
            throw .faulty("It has \(fields.count) fields, and the first line has \(count).")
        }
        var texts: [OneSignalColumn: String] = [:]
        for (column, place) in places {
            guard let text = String(validating: fields[place], as: UTF8.self) else {
                throw .faulty("\(column.rawValue) is not UTF-8.")
            }
            texts[column] = text
        }
        return OneSignalRow(texts: texts)
    }
}

/// A row's texts in the columns that are needed.
struct OneSignalRow {
    fileprivate let texts: [OneSignalColumn: String]

    /// The text of a column; each has one.
    subscript(_ column: OneSignalColumn) -> String { texts[column, default: ""] }

    /// The value that a reader makes of a column's text.
    ///
    /// - Throws: the reader's sentence, with the column's name.
    func value<Value>(
        _ column: OneSignalColumn,
        _ read: (String) throws(JSONFaultReason) -> Value
    ) throws(RowFault) -> Value {
        do throws(JSONFaultReason) {
            return try read(self[column])
        } catch {
            throw .faulty("\(column.rawValue) \(error.detail).")
        }
    }
}

/// Times as OneSignal has written them.
enum OneSignalTime {
    /// Reads seconds since 1970, or a date and time in UTC, with `UTC` behind it or not; nil when it is neither.
    static func parse(_ text: String) -> Date? {
        let digits = text.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        if digits.count == text.utf8.count {
            // Eleven digits last until the year 5138; milliseconds have more.
            return digits.count > 11 ? nil : Int64(text).map { Date(timeIntervalSince1970: Double($0)) }
        }
        guard digits.count == 4, let space = text.firstIndex(of: " ") else { return RFC3339.parse(text) }
        var time = text.hasSuffix(" UTC") ? String(text.dropLast(4)) : text
        time.replaceSubrange(space...space, with: "T")
        return RFC3339.parse(time + "Z")
    }
}
