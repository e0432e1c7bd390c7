import RegistryCore
import RegistryRules
import RegistryServer
import RegistryStore

extension Registry {
    /// Applies a line by the rules of the equivalent request.
    ///
    /// - Parameter isDry: Only reads the line. A line that can be read counts as taken.
    /// - Throws: ``Problem`` if the registry is unavailable and the import must stop.
    func take(_ line: ImportedLine, isDry: Bool, in scope: Scope) async throws -> LineOutcome {
        do {
            let record = try line.record(in: scope.app)
            if !isDry { try await take(record, in: scope, by: Apps.who) }
            return .taken
        } catch let reason as JSONFaultReason {
            return .faulty(reason.detail)
        } catch let problem as Problem {
            switch problem.code.status {
            case 403, 409, 410: return .refused(problem)
            case 400, 422: return .faulty("\(problem.code.rawValue):\(problem.errorSentences)")
            default: throw problem
            }
        }
    }

    private func take(_ record: TransferRecord, in scope: Scope, by who: UTF8Text) async throws {
        switch record {
        case .activity(let id, let registration):
            _ = try await register(registration, as: id, in: scope, by: who)
        case .named(let alias, let registration):
            _ = try await register(registration, alias: alias, owner: registration.owner, in: scope, by: who)
        case .end(let id, let reason, let time):
            try await end(id, reason: reason, observedAt: time, in: scope, by: who)
        case .namedEnd(let alias, let owner, let time):
            try await end(alias: alias, owner: owner, reason: .ended, observedAt: time, in: scope, by: who)
        case .installation(let installation, let profile, let subject):
            let claimant = subject.map { Claimant.subject($0, installation) } ?? .any
            _ = try await put(profile, for: installation, in: scope, by: who, claimant: claimant)
        case .logOut(let installation, let time):
            try await logOut(installation, observedAt: time, in: scope, by: who)
        case .token(let slot, let installation, let registration):
            _ = try await register(registration, in: slot, of: installation, in: scope, by: who)
        }
    }
}
