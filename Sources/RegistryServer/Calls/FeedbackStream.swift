import NIOCore
import RegistryCore

/// The results of NDJSON reports, one line per report in order, in bounded memory.
///
/// Results are written while reports arrive, so a sender must read while it sends. Holds no connection to Postgres
/// between batches. After an error, the last line and the final chunk are missing. Reports without a result can be sent
/// again.
struct FeedbackStream: ResponseStream {
    let apply: @Sendable ([FeedbackLine]) async throws -> [FeedbackResult]
    let lines: BodyLines
    /// Lines that arrived with the first batch and are not yet applied.
    let waiting: [BodyLine]
    /// Applied before the head is sent, so that a failure of Postgres is a 503.
    let first: (batch: [FeedbackLine], results: [FeedbackResult])
    static let batchSize = FeedbackBody.maximumReports

    /// - Throws: Errors that reject all reports, and `ConnectionLost`.
    static func start(
        _ lines: BodyLines,
        _ apply: @escaping @Sendable ([FeedbackLine]) async throws -> [FeedbackResult]
    ) async throws -> FeedbackStream {
        let read = try await lines.next() ?? []
        let batch = read.prefix(batchSize).map(FeedbackLine.read)
        let results = try await apply(batch)
        return FeedbackStream(
            apply: apply,
            lines: lines,
            waiting: Array(read.dropFirst(batchSize)),
            first: (batch, results)
        )
    }

    func write(to writer: Exchange) async throws {
        lines.beginReading()
        if !first.batch.isEmpty { try await writer.write(Self.lines(of: first.batch, first.results)) }
        var (waiting, count) = (waiting[...], first.batch.count)
        while true {
            if waiting.isEmpty {
                guard let read = try await lines.next() else { break }
                waiting = read[...]
            }
            let batch = waiting.prefix(Self.batchSize).map(FeedbackLine.read)
            waiting = waiting.dropFirst(Self.batchSize)
            try await writer.write(Self.lines(of: batch, try await apply(batch)))
            count += batch.count
        }
        var json = JSONWriter(reservingCapacity: 64)
        json.writeEnd(count: count)
        try await writer.write(ByteBuffer(bytes: json.bytes))
    }

    private static func lines(of batch: [FeedbackLine], _ results: [FeedbackResult]) -> ByteBuffer {
        var json = JSONWriter(reservingCapacity: batch.count * 128)
        var results = results[...]
        for line in batch {
            json.writeResult(of: line, from: &results)
            json.newline()
        }
        return ByteBuffer(bytes: json.bytes)
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
