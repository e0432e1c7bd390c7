import Foundation

/// Reads a file line by line, however long it is: never more than a chunk of it is in memory.
struct LineReader {
    struct Line {
        /// Without the newline; nil when it is longer than a line may be.
        let text: [UInt8]?
        /// Whether a newline ends it: the last line of a file that was cut off has none.
        let isWhole: Bool
    }

    /// The longest line of records, in bytes: as much as the body of one request may have.
    static let maximumLine = 64 * 1024
    private static let chunkSize = 256 * 1024

    private let descriptor: Int32
    private var buffer: [UInt8] = []
    private var start = 0
    /// Where the next line begins, in bytes from the file's begin.
    private(set) var offset: Int
    /// The number of the last line that was read, counted from 1.
    private(set) var number: Int

    /// - Parameters:
    ///   - offset: where the descriptor stands in the file.
    ///   - number: how many lines are before that.
    init(_ descriptor: Int32, offset: Int = 0, number: Int = 0) {
        self.descriptor = descriptor
        self.offset = offset
        self.number = number
    }

    /// The next line; nil at the end of the file.
    ///
    /// - Throws: a ``CommandFailure`` when the file cannot be read.
    mutating func next() throws(CommandFailure) -> Line? {
        var dropped = 0
        while true {
            if let end = buffer[start...].firstIndex(of: UInt8(ascii: "\n")) {
                return take(upTo: end, dropped: dropped, isWhole: true)
            }
            if buffer.count - start > Self.maximumLine {
                dropped += buffer.count - start
                start = buffer.count
            }
            guard try fill() else {
                let isEnd = start == buffer.count && dropped == 0
                return isEnd ? nil : take(upTo: buffer.count, dropped: dropped, isWhole: false)
            }
        }
    }

    private mutating func take(upTo end: Int, dropped: Int, isWhole: Bool) -> Line {
        let text = buffer[start..<end]
        offset += dropped + text.count + (isWhole ? 1 : 0)
        number += 1
        start = end + (isWhole ? 1 : 0)
        let isTooLong = dropped > 0 || text.count > Self.maximumLine
        return Line(text: isTooLong ? nil : Array(text), isWhole: isWhole)
    }

    /// - Returns: false at the end of the file.
    private mutating func fill() throws(CommandFailure) -> Bool {
        buffer.removeFirst(start)
        start = 0
        var count = -1
        let chunk = [UInt8](unsafeUninitializedCapacity: Self.chunkSize) { buffer, initialized in
            repeat { count = read(descriptor, buffer.baseAddress, Self.chunkSize) } while count < 0 && errno == EINTR
            initialized = max(count, 0)
        }
        guard count >= 0 else {
            throw CommandFailure(.failed, "The file could not be read: \(String(cString: strerror(errno))).")
        }
        buffer += chunk
        return !chunk.isEmpty
    }
}
