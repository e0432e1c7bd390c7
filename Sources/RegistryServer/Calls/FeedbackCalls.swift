import HTTPTypes
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
            call.parts.feedback.ignore(reason)
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
