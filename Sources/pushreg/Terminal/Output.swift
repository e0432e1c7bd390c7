import Foundation
import RegistryCore

struct Output: Sendable {
    /// Only the requested results.
    static let results = Output(descriptor: STDOUT_FILENO)
    /// Sentences, progress and logs.
    static let errors = Output(descriptor: STDERR_FILENO)

    let descriptor: Int32
    var isTerminal: Bool { isatty(descriptor) == 1 }
    func line(_ text: String) throws(CommandFailure) { try write(text + "\n") }

    /// Ignores write errors.
    func note(_ text: String) { try? line(text) }
    func write(_ text: String) throws(CommandFailure) { try write(Array(text.utf8)) }

    func write(_ bytes: [UInt8]) throws(CommandFailure) {
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else {
                throw CommandFailure(.failed, "The output could not be written: \(String(cString: strerror(errno))).")
            }
            written += max(count, 0)
        }
    }

    /// A line of JSON for each item, or a table.
    func list<Item: JSONEncodable>(
        _ items: [Item],
        asJSON: Bool,
        _ header: [String],
        row: (Item) -> [String]
    ) throws(CommandFailure) {
        guard asJSON else { return try table(header, items.map(row)) }
        for item in items { try line(item.jsonLine) }
    }

    func table(_ header: [String], _ rows: [[String]]) throws(CommandFailure) {
        let all = [header.map { $0.uppercased() }] + rows
        let widths = header.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        let lines = all.map { row in
            let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return String(cells.joined(separator: "  ").reversed().drop { $0 == " " }.reversed()) + "\n"
        }
        try write(lines.joined())
    }
}

extension JSONEncodable {
    var jsonLine: String { String(decoding: jsonBytes, as: UTF8.self) }
}

extension Int {
    /// `1 record`, `2 records`.
    func of(_ one: String, _ more: String? = nil) -> String { "\(self) \(self == 1 ? one : more ?? one + "s")" }
}

/// A progress line, shown only on terminals.
struct ProgressLine {
    private static let pause = Duration.milliseconds(100)

    private let output = Output.errors
    private let isShown = Output.errors.isTerminal
    private let start = ContinuousClock.now
    private var lastDrawn: ContinuousClock.Instant?

    /// Draws the line, at most once per `pause`. `fraction` is from 0 to 1, or nil if unknown.
    mutating func show(_ label: String, _ fraction: Double?, count: Int) {
        let now = ContinuousClock.now
        guard isShown, lastDrawn.map({ now - $0 >= Self.pause }) ?? true else { return }
        lastDrawn = now
        let rate = Int(Double(count) / max((now - start) / .seconds(1), 0.001))
        let share = fraction.map { "\(Int(min(max($0, 0), 1) * 100)) %, " } ?? ""
        try? output.write("\r\(share)\(label), \(count) records, \(rate)/s\u{1B}[K")
    }

    mutating func clear() {
        guard lastDrawn != nil else { return }
        try? output.write("\r\u{1B}[K")
        lastDrawn = nil
    }
}
