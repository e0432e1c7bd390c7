import NIOCore
import RegistryCore

/// The results of NDJSON reports, one line per report in order, in bounded memory.
///
/// Results are written while reports arrive, so a sender must read while it sends. Holds no connection to Postgres
/// between batches. After an error, the last line and the final chunk are missing. Reports without a result can be sent
/// again.
struct FeedbackStream: ResponseStream {
    private typealias Batch = (lines: [FeedbackLine], results: [FeedbackResult])

    private let apply: @Sendable ([FeedbackLine]) async throws -> [FeedbackResult]
    private let lines: BodyLines
    /// Applied before the head is sent, so that a failure of Postgres is a 503.
    private var first: Batch?

    /// - Throws: Errors that reject all reports, and `ConnectionLost`.
    init(
        of lines: BodyLines,
        _ apply: @escaping @Sendable ([FeedbackLine]) async throws -> [FeedbackResult]
    ) async throws {
        (self.lines, self.apply) = (lines, apply)
        first = try await next()
    }

    private func next() async throws -> Batch? {
        guard let read = try await lines.next(upTo: FeedbackReport.mostOfBody) else { return nil }
        let batch = read.map(FeedbackLine.read)
        return (batch, try await apply(batch))
    }

    func write(to writer: Exchange) async throws {
        lines.beginReading()
        var (current, count) = (first, 0)
        while let batch = current {
            var json = JSONWriter(reservingCapacity: batch.lines.count * 128)
            var results = batch.results[...]
            for line in batch.lines {
                json.writeResult(of: line, from: &results)
                json.newline()
            }
            try await writer.write(ByteBuffer(bytes: json.bytes))
            count += batch.lines.count
            current = try await next()
        }
        var json = JSONWriter(reservingCapacity: 64)
        json.writeEnd(count: count)
        try await writer.write(ByteBuffer(bytes: json.bytes))
    }
}

typealias FeedbackLine = Result<FeedbackReport, Problem>

extension FeedbackLine {
    fileprivate static func read(_ line: BodyLine) -> FeedbackLine {
        guard case .text(let bytes) = line else {
            let limit = LineSplitter.maximumLine
            return .failure(Problem(.bodyTooLarge, "The line is longer than \(limit) bytes."))
        }
        do throws(JSONSyntaxError) {
            return FeedbackReport.read(JSONReader(try JSONParser.parse(bytes)))
        } catch {
            return .failure(Problem(.malformedJSON, "The line is not JSON. \(error)"))
        }
    }
}
