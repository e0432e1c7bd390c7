import RegistryCore

struct RegistrationMetrics: Sendable {
    /// Counted by code. Others count as `other`.
    private static let refusals: [Problem.Code] = [
        .superseded, .tokenKindConflict, .tokenUnregistered, .activityEnded, .activityExpired, .clockSkew, .notYours,
        .unavailable,
    ]

    private static let others = "other"

    /// By kind and outcome. Kinds of apps' settings have one label, so that no app makes many.
    private var counters: [String: [String: RecordedMetrics.Counter]] = [:]

    init(_ metrics: RecordedMetrics) {
        let outcomes = RegistrationOutcome.allCases.map(\.rawValue) + Self.refusals.map(\.rawValue) + [Self.others]
        let kinds = TokenKind.all.map(\.name) + [Self.others]
        for kind in kinds {
            for outcome in outcomes {
                let counter = metrics.counter(.registrations, [("kind", kind), ("outcome", outcome)])
                counters[kind, default: [:]][outcome] = counter
            }
        }
    }

    func count(_ result: Result<RegistrationOutcome, Problem>, of kind: TokenKind) {
        let counters = counters[kind.name] ?? counters[Self.others] ?? [:]
        let outcome =
            switch result {
            case .success(let outcome): outcome.rawValue
            case .failure(let problem): problem.code.rawValue
            }
        (counters[outcome] ?? counters[Self.others])?.increment()
    }

    func counting<Value>(
        _ kind: TokenKind,
        _ outcome: (Value) -> RegistrationOutcome,
        _ register: () async throws -> Value
    ) async throws -> Value {
        do {
            let value = try await register()
            count(.success(outcome(value)), of: kind)
            return value
        } catch {
            if let problem = error as? Problem { count(.failure(problem), of: kind) }
            throw error
        }
    }
}
