import Foundation

/// Reads a file of comma-separated values record by record (RFC 4180), however long it is: never more than a chunk of it and a
/// record are in memory.
///
/// Files may have a byte order mark, either end of line, and lines of nothing, which are no records.
struct CSVReader {
    struct Record {
        /// The lines that it stands on, counted from 1; more than one where a field has line breaks.
        let lines: ClosedRange<Int>
        /// Its fields, or why it has none.
        let fields: Result<[[UInt8]], CSVFault>
    }

    /// The longest record, in bytes: as much as a line of NDJSON may have.
    static let maximumRecord = LineReader.maximumLine
    private static let chunkSize = 256 * 1024

    private let descriptor: Int32
    private var chunk: [UInt8] = []
    private var start = 0
    /// Where the next record begins, in bytes from the file's begin.
    private(set) var offset: Int
    /// The number of the last line that was read, counted from 1.
    private(set) var number: Int
    /// Whether the file begins as gzip's do.
    private(set) var isCompressed = false

    /// - Parameters:
    ///   - offset: where the descriptor stands in the file.
    ///   - number: how many lines are before that.
    init(_ descriptor: Int32, offset: Int = 0, number: Int = 0) {
        self.descriptor = descriptor
        self.offset = offset
        self.number = number
    }

    /// The next record; nil at the end of the file.
    ///
    /// - Throws: a ``CommandFailure`` when the file cannot be read.
    mutating func next() throws(CommandFailure) -> Record? {
        while true {
            let first = number + 1
            var draft = CSVDraft()
            let isWhole = try read(into: &draft)
            guard isWhole || !draft.isUnbegun else { return nil }
            if !isWhole { number += 1 }
            if draft.isBlank { continue }
            return Record(lines: first...max(first, number), fields: draft.finish(isWhole: isWhole))
        }
    }

    /// - Returns: false when the file ends before the record does.
    private mutating func read(into draft: inout CSVDraft) throws(CommandFailure) -> Bool {
        while true {
            while start < chunk.count {
                let byte = chunk[start]
                start += 1
                offset += 1
                if byte == CSVDraft.newline { number += 1 }
                if draft.add(byte) { return true }
            }
            guard try fill() else { return false }
        }
    }

    /// - Returns: false at the end of the file.
    private mutating func fill() throws(CommandFailure) -> Bool {
        chunk = try LineReader.readChunk(of: Self.chunkSize, from: descriptor)
        start = 0
        guard offset == 0 else { return !chunk.isEmpty }
        isCompressed = chunk.starts(with: [0x1F, 0x8B])
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        if chunk.starts(with: mark) { (start, offset) = (mark.count, mark.count) }
        return !chunk.isEmpty
    }
}
