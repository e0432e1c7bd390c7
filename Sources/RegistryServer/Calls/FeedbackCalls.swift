import HTTPTypes
import NIOCore
import RegistryCore
import RegistryStore

extension ScopedCall {
    func takeFeedback() async throws -> Response {
        if let lines = call.lines { return .stream(try await FeedbackStream(of: lines, apply)) }
        let reports = try call.readChecked { FeedbackReport.readBody(&$0) }
        var results = try await apply(reports)[...]
        return .json { json in
            json.array("results") { json in
                for report in reports { json.writeResult(of: report, from: &results) }
            }
        }
    }

    /// Always 200 for a valid post, because gorush treats all other statuses as failures.
    func takeGorushPost() async throws -> Response {
        switch try call.readChecked({ GorushPost.read(&$0) }) {
        case .ignored(let reason):
            call.parts.metrics.recorded.counter(.ignoredGorushPosts, [("reason", reason.rawValue)]).increment()
            return .json { json in
                json.member("action", "ignored")
                json.member("detail", reason.detail)
            }
        case .report(let report):
            guard let result = try await apply([.success(report)]).first else { throw Problem.lostResult }
            return .json(.ok, result)
        }
    }

    @Sendable private func apply(_ lines: [FeedbackLine]) async throws -> [FeedbackResult] {
        // A stream may outlive its key.
        if call.lines != nil { _ = try await call.parts.authenticator.principal(for: call.fields, from: call.network) }
        let reports = lines.compactMap { try? $0.get() }
        guard !reports.isEmpty else { return [] }
        let outcome = try await registry.apply(reports, in: scope, by: who)
        call.parts.feedback.record(outcome, of: reports, in: scope)
        return outcome.results
    }

    func releaseActivity() async throws -> Response {
        let id = try read { $0.path("activityId", ActivityID.init) }
        let isReleased = try await registry.release(id, in: scope, by: who)
        return .json { $0.member("released", isReleased ? 1 : 0) }
    }

    func releaseAll() async throws -> Response {
        let released = try await registry.releaseAll(in: scope, by: who)
        return .json { $0.member("released", released) }
    }
}

/// The results of NDJSON reports, one line per report in order, in bounded memory.
///
/// Results are written while reports arrive, so a sender must read while it sends. Holds no connection to Postgres
/// between batches. After an error, the last line and the final chunk are missing.
struct FeedbackStream: ResponseStream {
    typealias Apply = @Sendable ([FeedbackLine]) async throws -> [FeedbackResult]
    private typealias Batch = (lines: [FeedbackLine], results: [FeedbackResult])

    private let apply: Apply
    private let lines: BodyLines
    /// Applied before the head is sent, so that a failure of Postgres is a 503.
    private var first: Batch?

    /// - Throws: Errors that reject all reports, and `ConnectionLost`.
    init(of lines: BodyLines, _ apply: @escaping Apply) async throws {
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
        } catch { return .failure(Problem(.malformedJSON, "The line is not JSON. \(error)")) }
    }
}
