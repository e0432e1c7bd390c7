import RegistryStore

/// Prometheus's text format, version 0.0.4.
struct MetricsText {
    static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

    typealias Labels = String

    private(set) var text = ""

    mutating func add(_ metric: Metric, _ series: [(labels: Labels, value: Double)]) {
        guard begin(metric, if: !series.isEmpty) else { return }
        for (labels, value) in series { line(metric.rawValue, labels, value) }
    }

    mutating func add(_ metric: Metric, _ value: Double?) { add(metric, value.map { [("", $0)] } ?? []) }

    /// Omits empty histograms, because each has many buckets.
    mutating func add(_ metric: Metric, _ series: [(labels: Labels, value: Histogram.Snapshot)]) {
        let series = series.filter { $0.value.count > 0 }
        guard begin(metric, if: !series.isEmpty) else { return }
        for (labels, value) in series { add(metric.rawValue, labels, value) }
    }

    private mutating func add(_ name: String, _ labels: Labels, _ histogram: Histogram.Snapshot) {
        var total = 0
        for (bound, count) in zip(histogram.bounds + [.infinity], histogram.counts) {
            total += count
            let limit = "le=\"\(bound.isInfinite ? "+Inf" : Self.format(bound))\""
            line(name + "_bucket", labels.isEmpty ? limit : "\(labels),\(limit)", Double(total))
        }
        line(name + "_sum", labels, histogram.sum)
        line(name + "_count", labels, Double(total))
    }

    private mutating func begin(_ metric: Metric, if isThere: Bool) -> Bool {
        if isThere { text += "# HELP \(metric.rawValue) \(metric.help)\n# TYPE \(metric.rawValue) \(metric.type)\n" }
        return isThere
    }

    private mutating func line(_ name: String, _ labels: Labels, _ value: Double) {
        text += name
        if !labels.isEmpty { text += "{\(labels)}" }
        text += " \(Self.format(value))\n"
    }

    private static func format(_ value: Double) -> String {
        Int(exactly: value).map(String.init) ?? "\(value)"
    }

    static func labels(_ dimensions: [(String, String)]) -> Labels {
        dimensions.map { name, value in
            let escaped = value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
            return "\(name)=\"\(escaped)\""
        }.joined(separator: ",")
    }
}
