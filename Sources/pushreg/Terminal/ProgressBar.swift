import Foundation

/// A progress line, shown only on terminals.
struct ProgressBar {
    private static let width = 24
    private static let pause = Duration.milliseconds(100)

    private let output = Output.errors
    private let isShown: Bool
    private let start = ContinuousClock.now
    private var lastDrawn: ContinuousClock.Instant?
    private let countAtStart: Int

    init(countAtStart: Int = 0) {
        self.countAtStart = countAtStart
        isShown = output.isTerminal
    }

    /// Draws the line, at most once per `pause`. `fraction` is from 0 to 1, or nil if unknown.
    mutating func show(_ label: String, _ fraction: Double?, count: Int) {
        let now = ContinuousClock.now
        guard isShown, lastDrawn.map({ now - $0 >= Self.pause }) ?? true else { return }
        lastDrawn = now
        let seconds = max((now - start) / .seconds(1), 0.001)
        let rate = Int(Double(count - countAtStart) / seconds)
        try? output.write("\r\(Self.bar(fraction)) \(label), \(count) records, \(rate)/s\u{1B}[K")
    }

    mutating func clear() {
        guard lastDrawn != nil else { return }
        try? output.write("\r\u{1B}[K")
        lastDrawn = nil
    }

    /// `[######   ]  50 %`. Empty if `fraction` is nil.
    static func bar(_ fraction: Double?) -> String {
        guard let fraction else { return "" }
        let share = min(max(fraction, 0), 1)
        let done = Int(share * Double(width))
        let percent = String(Int(share * 100))
        let bar = String(repeating: "#", count: done) + String(repeating: " ", count: width - done)
        return "[\(bar)] \(String(repeating: " ", count: 3 - percent.count))\(percent) %"
    }
}
