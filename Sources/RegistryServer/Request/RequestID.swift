import HTTPTypes

/// The name of one request, by which an answer and the log are brought together.
enum RequestID {
    /// The field that carries it, both ways.
    static let field = HTTPField.Name("Request-Id")!

    /// The caller's own when it is 1 to 128 visible ASCII characters, else 32 random hex digits.
    static func choose(_ given: String?) -> String {
        guard let given, (1...128).contains(given.utf8.count), given.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return random() }
        return given
    }

    private static func random() -> String {
        let halves = [UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max)]
        return halves.map { half in
            let digits = String(half, radix: 16)
            return String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }.joined()
    }
}
