import Foundation
import RegistryCore
import RegistryStore

/// Reads OneSignal's export of subscriptions (`POST /players/csv_export`), a row for each, with the columns in any order.
struct OneSignalReader {
    private var csv: CSVReader
    private let app: BundleID
    private let columns: OneSignalColumns

    /// Reads the header.
    ///
    /// - Throws: a ``CommandFailure`` when the file cannot be read, or is none with the columns that are needed.
    init(_ descriptor: Int32, app: BundleID) throws(CommandFailure) {
        self.app = app
        csv = CSVReader(descriptor)
        let header = try csv.next()
        guard !csv.isCompressed else {
            throw CommandFailure(
                .usage,
                "The file is compressed. Decompress it first, with gunzip, or pass - and pipe gunzip -c FILE in."
            )
        }
        guard let header else {
            throw CommandFailure(.usage, "The file is empty: its first line must name the columns.")
        }
        columns = try OneSignalColumns(header)
    }

    /// Goes on behind rows that were read before.
    ///
    /// - Parameters:
    ///   - descriptor: the file, which stands there.
    ///   - number: how many lines are before that.
    mutating func goOn(_ descriptor: Int32, offset: Int, number: Int) {
        csv = CSVReader(descriptor, offset: offset, number: number)
    }

    /// Where the next row begins, in bytes from the file's begin.
    var offset: Int { csv.offset }
    /// The number of the last line that was read.
    var number: Int { csv.number }

    /// The next row; nil at the end.
    ///
    /// - Throws: a ``CommandFailure`` when the file cannot be read.
    mutating func next() throws(CommandFailure) -> ImportedLine? {
        guard let record = try csv.next() else { return nil }
        return ImportedLine(number: record.lines.lowerBound, content: content(of: record))
    }

    private func content(of record: CSVReader.Record) -> ImportedLine.Content {
        do throws(RowFault) {
            return .device(try device(try columns.row(record)))
        } catch {
            switch error {
            case .leftOut(let reason): return .nothing(.leftOut(reason))
            case .faulty(let reason): return .nothing(.faulty(reason + Self.extent(of: record)))
            }
        }
    }

    /// Where a row has more than one line, a fault's place is told by both ends.
    private static func extent(of record: CSVReader.Record) -> String {
        record.lines.count > 1 ? " It goes on to line \(record.lines.upperBound)." : ""
    }

    private func device(_ row: OneSignalRow) throws(RowFault) -> ImportedDevice {
        guard row[.deviceType] == "0" else { throw .leftOut(.otherDevice) }
        switch row[.invalidIdentifier] {
        case "f", "false": break
        case "t", "true": throw .leftOut(.invalid)
        default: throw .faulty("invalid_identifier must be f, false, t or true.")
        }
        guard !row[.identifier].isEmpty else { throw .leftOut(.withoutToken) }
        guard !row[.externalUserID].isEmpty else { throw .leftOut(.withoutUser) }
        guard !row[.id].isEmpty else { throw .faulty("id is required.") }
        guard let observedAt = OneSignalTime.parse(row[.lastActive]) else {
            throw .faulty("last_active must be seconds since 1970, or a time in UTC such as 2026-03-01 12:00:00.")
        }
        return ImportedDevice(
            installation: InstallationHash(of: row[.id], knownTo: "onesignal", in: app),
            token: try row.value(.identifier) { text throws(JSONFaultReason) in try PushToken(hexadecimal: text) },
            aliases: try row.value(.externalUserID) { text throws(JSONFaultReason) in
                try AliasSet([Alias(kind: "userId", value: text)])
            },
            observedAt: observedAt
        )
    }
}

/// Why there is no device in a row.
enum RowFault: Error {
    case leftOut(LeftOut)
    /// The sentence repeats nothing of the row.
    case faulty(String)
}
