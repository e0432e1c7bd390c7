import RegistryCore
import RegistryStore

extension ScopedCall {
    /// `POST …/feedback`: what APNs answered to pushes.
    func takeFeedback() async throws -> Answer {
        var json = JSONReader(call.body)
        let candidate = FeedbackBody.read(&json)
        try json.check()
        guard let body = candidate else { throw Problem(faults: []) }
        let reports = body.reports.compactMap { try? $0.get() }
        var results = try await registry.apply(reports, in: scope, by: who)[...]
        return .json { json in
            json.array("results") { json in
                for report in body.reports { json.writeResult(of: report, from: &results) }
            }
        }
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

extension JSONWriter {
    /// Writes what became of the next report, or in its place what was wrong with it.
    fileprivate mutating func writeResult(
        of report: Result<FeedbackReport, Problem>,
        from results: inout ArraySlice<FeedbackResult>
    ) {
        switch report {
        case .success: value(results.popFirst())
        case .failure(let problem): object { $0.member("problem", problem) }
        }
    }
}
