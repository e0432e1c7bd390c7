import Metrics
import RegistryCore

struct RegistrationMetrics: Sendable {
    /// Counted by code. Others count as `other`.
    private static let refusals: [Problem.Code] = [
        .superseded, .tokenKindConflict, .tokenUnregistered, .activityEnded, .activityExpired, .clockSkew, .notYours,
        .unavailable,
    ]

    private struct Outcomes: Sendable {
        var accepted: [RegistrationOutcome: Counter] = [:]
        var refused: [Problem.Code: Counter] = [:]
        let other: Counter
    }

    private let kinds: [String: Outcomes]
    /// Kinds of apps' settings have one label, so that no app makes many.
    private let others: Outcomes

    init(_ factory: any MetricsFactory) {
        let kinds = TokenKind.all.map(\.name)
        self.kinds = Dictionary(uniqueKeysWithValues: kinds.map { ($0, Self.outcomes(of: $0, factory)) })
        others = Self.outcomes(of: "other", factory)
    }

    private static func outcomes(of kind: String, _ factory: any MetricsFactory) -> Outcomes {
        func counter(_ outcome: String) -> Counter {
            Counter(
                label: Metric.registrations.rawValue,
                dimensions: [("kind", kind), ("outcome", outcome)],
                factory: factory
            )
        }
        var outcomes = Outcomes(other: counter("other"))
        for outcome in RegistrationOutcome.allCases { outcomes.accepted[outcome] = counter(outcome.rawValue) }
        for code in refusals { outcomes.refused[code] = counter(code.rawValue) }
        return outcomes
    }

    func count(_ result: Result<RegistrationOutcome, Problem>, of kind: TokenKind) {
        let outcomes = kinds[kind.name] ?? others
        let counter =
            switch result {
            case .success(let outcome): outcomes.accepted[outcome]
            case .failure(let problem): outcomes.refused[problem.code]
            }
        (counter ?? outcomes.other).increment()
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
