import NIOCore
import RegistryCore

enum BodyLine: Sendable, Hashable {
    /// Without the newline.
    case text([UInt8])
    /// It was longer than the limit; its text was dropped.
    case tooLong
}

/// Cuts the parts of a body into lines, and keeps at most one incomplete line.
struct LineSplitter {
    /// In bytes without its newline.
    static let maximumLine = 64 * 1024

    private var rest: [UInt8] = []
    private var isTooLong = false

    /// - Returns: the lines completed by this part, without blank ones.
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

    /// The last line, which may lack a newline.
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
