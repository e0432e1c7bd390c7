import HTTPTypes
import TestSupport

/// The values of `/metrics` at one time, by series, such as `pushreg_sweep_rows_total{task="expiry"}`.
struct Measurements {
    let text: String
    private let values: [String: Double]

    init(_ reply: Reply) {
        text = reply.text
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        values = Dictionary(
            uniqueKeysWithValues: lines.compactMap { line in
                line.lastIndex(of: " ").map { (String(line[..<$0]), Double(line[$0...].dropFirst()) ?? .nan) }
            }
        )
    }

    /// The value of a series; zero if it is missing.
    subscript(_ series: String) -> Double { values[series] ?? 0 }
}

extension LiveServer {
    func measurements(_ fields: HTTPFields = [:]) async throws -> Measurements {
        Measurements(try await call(.get, "/metrics", nil, fields))
    }
}
