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

    init(_ factory: any MetricsFactory) {
        let kinds = TokenKind.all
        self.kinds = Dictionary(uniqueKeysWithValues: kinds.map { ($0.name, Self.outcomes(of: $0, factory)) })
    }

    private static func outcomes(of kind: TokenKind, _ factory: any MetricsFactory) -> Outcomes {
        func counter(_ outcome: String) -> Counter {
            Counter(
                label: Metric.registrations.rawValue,
                dimensions: [("kind", kind.name), ("outcome", outcome)],
                factory: factory
            )
        }
        var outcomes = Outcomes(other: counter("other"))
        for outcome in RegistrationOutcome.allCases { outcomes.accepted[outcome] = counter(outcome.rawValue) }
        for code in refusals { outcomes.refused[code] = counter(code.rawValue) }
        return outcomes
    }

    func count(_ result: Result<RegistrationOutcome, Problem>, of kind: TokenKind) {
        guard let outcomes = kinds[kind.name] else { return }
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
