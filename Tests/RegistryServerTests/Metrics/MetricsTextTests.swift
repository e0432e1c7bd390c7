import RegistryStore
import Testing

@testable import RegistryServer

@Suite struct MetricsTextTests {
    @Test func `A histogram is written with its upper bounds`() {
        let histogram = Histogram(bounds: [0.5, 1, 2])
        for value in [0.25, 0.5, 0.75, 2, 64] { histogram.record(value) }
        var text = MetricsText()
        text.add(.batchWaits, [("work=\"x\"", histogram.snapshot)])
        let lines = text.text.split(separator: "\n").map(String.init)
        #expect(
            lines.dropFirst() == [
                "# TYPE pushreg_batch_wait_seconds histogram",
                #"pushreg_batch_wait_seconds_bucket{work="x",le="0.5"} 2"#,
                #"pushreg_batch_wait_seconds_bucket{work="x",le="1"} 3"#,
                #"pushreg_batch_wait_seconds_bucket{work="x",le="2"} 4"#,
                #"pushreg_batch_wait_seconds_bucket{work="x",le="+Inf"} 5"#,
                #"pushreg_batch_wait_seconds_sum{work="x"} 67.5"#,
                #"pushreg_batch_wait_seconds_count{work="x"} 5"#,
            ]
        )
    }

    @Test func `A time is written in seconds`() {
        let histogram = Histogram(bounds: [0.001, 0.01])
        histogram.record(.microseconds(1001))
        histogram.record(.seconds(2))
        #expect(histogram.snapshot.counts == [0, 1, 1])
        #expect(abs(histogram.snapshot.sum - 2.001001) < 1e-9)
    }

    @Test func `A series that counted nothing is left out`() {
        var text = MetricsText()
        text.add(.batchWaits, [("", Histogram(bounds: [1]).snapshot)])
        #expect(text.text.isEmpty)
    }

    @Test func `Labels are escaped`() {
        #expect(MetricsText.labels([("a", #"x"y\z"#), ("b", "1\n2")]) == #"a="x\"y\\z",b="1\n2""#)
    }

    @Test func `A series is stored once`() {
        let metrics = RecordedMetrics()
        for _ in 1...2 { metrics.counter(.sweptRows, [("task", "expiry")]).increment(by: 3) }
        var text = MetricsText()
        metrics.write(.sweptRows, to: &text)
        #expect(text.text.hasSuffix("\npushreg_sweep_rows_total{task=\"expiry\"} 6\n"))
    }
}
