/// Letters and digits only, so a double click selects a complete key.
enum Base62 {
    private static let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    /// Uniform digits from the system's secure random source: 5.95 bits per digit.
    static func random(count: Int) -> String {
        String(decoding: (0..<count).map { _ in digits[Int.random(in: 0..<62)] }, as: UTF8.self)
    }

    /// Six digits hold 32 bits. The most significant digit is first.
    static func sixDigits(_ number: UInt32) -> String {
        var rest = Int(number)
        var text: [UInt8] = []
        for _ in 0..<6 {
            text.append(digits[rest % 62])
            rest /= 62
        }
        return String(decoding: text.reversed(), as: UTF8.self)
    }

    static func isValid(_ text: Substring) -> Bool { text.utf8.allSatisfy(digits.contains) }
}
