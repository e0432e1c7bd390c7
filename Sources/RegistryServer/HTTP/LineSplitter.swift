import NIOCore
import RegistryCore

enum BodyLine: Sendable, Hashable {
    /// Without the newline.
    case text([UInt8])
    /// Longer than the limit. Its text was dropped.
    case tooLong
}

/// Splits a body into lines. Stores at most one incomplete line.
struct LineSplitter {
    /// In bytes, without the newline.
    static let maximumLine = 64 * 1024

    private var rest: [UInt8] = []
    private var isTooLong = false

    /// - Returns: The lines that this part completes, without blank ones.
    mutating func add(_ part: ByteBuffer) -> [BodyLine] {
        var lines: [BodyLine] = []
        var view = part.readableBytesView
        while let end = view.firstIndex(of: 0x0A) {
            storeBytes(view[..<end])
            if let line = finish() { lines.append(line) }
            view = view[view.index(after: end)...]
        }
        storeBytes(view)
        return lines
    }

    /// The last line if it has no newline.
    mutating func finish() -> BodyLine? {
        defer { (rest, isTooLong) = ([], false) }
        if isTooLong { return .tooLong }
        return rest.allSatisfy(ASCII.isBlank) ? nil : .text(rest)
    }

    private mutating func storeBytes(_ bytes: ByteBufferView) {
        guard !isTooLong else { return }
        if rest.count + bytes.count > Self.maximumLine {
            (rest, isTooLong) = ([], true)
        } else {
            rest += bytes
        }
    }
}
