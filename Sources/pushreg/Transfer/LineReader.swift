import Foundation

/// Reads lines in bounded memory.
struct LineReader {
    struct Line {
        /// Without the newline. Nil if the line is too long.
        let text: [UInt8]?
    }

    /// In bytes. Equal to the limit of one request's body.
    static let maximumLine = 64 * 1024
    private static let chunkSize = 256 * 1024

    private let descriptor: Int32
    private var buffer: [UInt8] = []
    private var start = 0
    private(set) var offset: Int
    private(set) var number: Int

    init(_ descriptor: Int32, offset: Int = 0, number: Int = 0) {
        self.descriptor = descriptor
        self.offset = offset
        self.number = number
    }

    mutating func next() throws(CommandFailure) -> Line? {
        if offset == 0 { try begin() }
        var dropped = 0
        while true {
            if let end = buffer[start...].firstIndex(of: UInt8(ascii: "\n")) {
                return take(upTo: end, dropped: dropped, hasNewline: true)
            }
            if buffer.count - start > Self.maximumLine {
                dropped += buffer.count - start
                start = buffer.count
            }
            guard try fill() else {
                let isEnd = start == buffer.count && dropped == 0
                return isEnd ? nil : take(upTo: buffer.count, dropped: dropped, hasNewline: false)
            }
        }
    }

    /// Skips a byte order mark. Rejects other file formats by their first bytes.
    private mutating func begin() throws(CommandFailure) {
        while buffer.count < 4, try fill() {}
        if buffer.starts(with: [0xEF, 0xBB, 0xBF]) { (start, offset) = (3, 3) }
        if let format = Self.formats.first(where: { buffer[start...].starts(with: $0.beginning) }) {
            throw CommandFailure(.usage, "The file is \(format.name), not NDJSON in UTF-8. \(format.remedy)")
        }
        let isCarriageReturn =
            !buffer.contains(UInt8(ascii: "\n")) && zip(buffer, buffer.dropFirst()).contains { $0 == (13, 123) }
        guard !isCarriageReturn else {
            let remedy = "Convert them: tr '\\r' '\\n' <FILE | pushreg import … -"
            throw CommandFailure(.usage, "The lines of the file end with carriage returns, not newlines. \(remedy)")
        }
    }

    private static let formats: [(beginning: [UInt8], name: String, remedy: String)] = [
        ([0x1F, 0x8B], "compressed by gzip", "Decompress it: gunzip -c FILE | pushreg import … -"),
        ([0x28, 0xB5, 0x2F, 0xFD], "compressed by zstd", "Decompress it: zstd -dc FILE | pushreg import … -"),
        ([0xFD, 0x37, 0x7A, 0x58], "compressed by xz", "Decompress it: xz -dc FILE | pushreg import … -"),
        (Array("BZh".utf8), "compressed by bzip2", "Decompress it: bunzip2 -c FILE | pushreg import … -"),
        (Array("PK\u{3}\u{4}".utf8), "a ZIP archive", "Decompress it: unzip -p FILE | pushreg import … -"),
        ([0xFF, 0xFE], "text in UTF-16", utf16), ([0xFE, 0xFF], "text in UTF-16", utf16),
        (Array("{\0".utf8), "text in UTF-16", utf16), (Array("\0{".utf8), "text in UTF-16", utf16),
        (Array("{\n".utf8), "JSON with one record over several lines", perLine),
        (Array("{\r\n".utf8), "JSON with one record over several lines", perLine),
        (Array("[".utf8), "one JSON array", "Write one record per line: jq -c '.[]' FILE | pushreg import … -"),
    ]

    private static let perLine = "Write one record per line: jq -c . FILE | pushreg import … -"
    private static let utf16 = "Convert it: iconv -f UTF-16 -t UTF-8 FILE | pushreg import … -"

    private mutating func take(upTo end: Int, dropped: Int, hasNewline: Bool) -> Line {
        let text = buffer[start..<end]
        offset += dropped + text.count + (hasNewline ? 1 : 0)
        number += 1
        start = end + (hasNewline ? 1 : 0)
        let isTooLong = dropped > 0 || text.count > Self.maximumLine
        return Line(text: isTooLong ? nil : Array(text))
    }

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
