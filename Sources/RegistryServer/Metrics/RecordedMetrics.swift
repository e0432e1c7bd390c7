import RegistryStore
import Synchronization

/// The counters and histograms that this instance records, by labels.
///
/// Code on hot paths looks up its counter once and keeps it, so that counting needs no lookup.
final class RecordedMetrics: Sendable {
    final class Counter: Sendable {
        private let total = Atomic(0)

        var value: Int { total.load(ordering: .relaxed) }

        func increment(by amount: Int = 1) { total.wrappingAdd(amount, ordering: .relaxed) }
    }

    private struct Series {
        var counters: [MetricsText.Labels: Counter] = [:]
        var histograms: [MetricsText.Labels: Histogram] = [:]
    }

    private let series = Mutex<[Metric: Series]>([:])

    func counter(_ metric: Metric, _ dimensions: [(String, String)] = []) -> Counter {
        find(\.counters, metric, dimensions, Counter())
    }

    /// Of times in seconds.
    func histogram(_ metric: Metric, _ dimensions: [(String, String)]) -> Histogram {
        find(\.histograms, metric, dimensions, Histogram(bounds: Histogram.seconds))
    }

    private func find<Kept: Sendable>(
        _ place: any WritableKeyPath<Series, [MetricsText.Labels: Kept]> & Sendable,
        _ metric: Metric,
        _ dimensions: [(String, String)],
        _ new: @autoclosure () -> Kept
    ) -> Kept {
        let labels = MetricsText.labels(dimensions)
        return series.withLock { series in
            if let kept = series[metric]?[keyPath: place][labels] { return kept }
            let kept = new()
            series[metric, default: Series()][keyPath: place][labels] = kept
            return kept
        }
    }

    func write(_ metric: Metric, to text: inout MetricsText) {
        guard let series = series.withLock({ $0[metric] }) else { return }
        text.add(metric, series.counters.map { ($0, Double($1.value)) }.sorted { $0.0 < $1.0 })
        text.add(metric, series.histograms.map { ($0, $1.snapshot) }.sorted { $0.0 < $1.0 })
    }
}
