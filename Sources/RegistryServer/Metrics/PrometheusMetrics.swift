import Metrics
import RegistryStore
import Synchronization

/// A swift-metrics backend for Prometheus.
///
/// Code on hot paths creates its counter once and keeps it, so that counting needs no lookup.
final class PrometheusMetrics: MetricsFactory {
    private struct Series {
        var counters: [MetricsText.Labels: PrometheusCounter] = [:]
        var gauges: [MetricsText.Labels: PrometheusGauge] = [:]
        var histograms: [MetricsText.Labels: PrometheusHistogram] = [:]
    }

    private let series = Mutex<[String: Series]>([:])

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        findSeries(\.counters, label, dimensions, PrometheusCounter())
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        aggregate
            ? findSeries(\.histograms, label, dimensions, PrometheusHistogram())
            : findSeries(\.gauges, label, dimensions, PrometheusGauge())
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        findSeries(\.histograms, label, dimensions, PrometheusHistogram())
    }

    // Keeps counters, because removing one would look like a restart.
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}

    private func findSeries<Kept: Sendable>(
        _ place: any WritableKeyPath<Series, [MetricsText.Labels: Kept]> & Sendable,
        _ label: String,
        _ dimensions: [(String, String)],
        _ new: @autoclosure () -> Kept
    ) -> Kept {
        let labels = MetricsText.labels(dimensions)
        return series.withLock { series in
            if let kept = series[label]?[keyPath: place][labels] { return kept }
            let kept = new()
            series[label, default: Series()][keyPath: place][labels] = kept
            return kept
        }
    }

    func write(_ metric: Metric, to text: inout MetricsText) {
        guard let series = series.withLock({ $0[metric.rawValue] }) else { return }
        let numbers = series.counters.map { ($0, Double($1.value)) } + series.gauges.map { ($0, $1.value) }
        text.add(metric, numbers.sorted { $0.0 < $1.0 })
        text.add(metric, series.histograms.map { ($0, $1.histogram.snapshot) }.sorted { $0.0 < $1.0 })
    }
}

private final class PrometheusCounter: CounterHandler {
    private let total = Atomic<Int64>(0)

    var value: Int64 { total.load(ordering: .relaxed) }

    func increment(by amount: Int64) { total.wrappingAdd(amount, ordering: .relaxed) }

    func reset() { total.store(0, ordering: .relaxed) }
}

private final class PrometheusGauge: RecorderHandler {
    private let last = Mutex(0.0)

    var value: Double { last.withLock(\.self) }

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) { last.withLock { $0 = value } }
}

private final class PrometheusHistogram: RecorderHandler, TimerHandler {
    let histogram = Histogram(bounds: Histogram.seconds)

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) { histogram.record(value) }

    func recordNanoseconds(_ duration: Int64) { histogram.record(Double(duration) / 1e9) }
}
