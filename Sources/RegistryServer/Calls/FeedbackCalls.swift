import HTTPTypes
import RegistryCore
import RegistryStore

extension ScopedCall {
    /// `POST …/feedback`: what APNs answered to pushes.
    func takeFeedback() async throws -> Answer {
        if let lines = call.lines { return .stream(try await FeedbackStream.begin(lines, apply)) }
        let body = try call.readChecked { FeedbackBody.read(&$0) }
        var results = try await apply(body.reports)[...]
        return .json { json in
            json.array("results") { json in
                for report in body.reports { json.writeResult(of: report, from: &results) }
            }
        }
    }

    /// `POST …/feedback/gorush`: a failed push, as gorush tells of it. Answered 200 whatever comes of it, for gorush takes all
    /// else for a failure.
    func takeGorushPost() async throws -> Answer {
        switch try call.readChecked({ GorushPost.read(&$0) }) {
        case .ignored(let reason):
            call.feedback.ignore(reason)
            return .json { json in
                json.member("action", "ignored")
                json.member("detail", reason.detail)
            }
        case .report(let report):
            guard let result = try await apply([.success(report)]).first else { throw Problem.lostResult }
            return .json(.ok, try result.get())
        }
    }

    /// Applies the reports among these, and counts what became of them.
    @Sendable private func apply(_ lines: [FeedbackLine]) async throws -> [Result<FeedbackResult, Problem>] {
        let reports = lines.compactMap { try? $0.get() }
        guard !reports.isEmpty else { return [] }
        let outcome = try await registry.apply(reports, in: scope, by: who)
        call.feedback.record(outcome, of: reports, in: scope)
        return outcome.results
    }

    /// `POST …/activities/{activityId}/release`: out of quarantine.
    func releaseActivity() async throws -> Answer {
        var parameters = ParameterReader(call)
        let id = parameters.path("activityId", ActivityID.init)
        let isReleased = try await registry.release(parameters.checked(id), in: scope, by: who)
        return .json { $0.member("released", isReleased ? 1 : 0) }
    }

    /// `POST …/release`: all that is quarantined in the app and environment.
    func releaseAll() async throws -> Answer {
        let released = try await registry.releaseAll(in: scope, by: who)
        return .json { $0.member("released", released) }
    }
}
