import Foundation
import RegistryCore
import RegistryStore
import TestSupport

struct HistoryPlayer {
    let scope: Scope
    let name: String
    /// Minute 0 of the history.
    let start: Date

    func play(_ request: ClientRequest, on registry: Registry) async throws {
        do {
            switch request {
            case .register(let request):
                var registration = registration(request.token, at: request.observedAt)
                registration.startedAt = request.startedAt.map(date)
                registration.startsAt = request.startsAt.map(date)
                registration.installation = request.installation.map(hash)
                registration.aliases = try request.alias.map { try AliasSet([alias($0)]) }
                _ = try await registry.register(registration, as: id(request.activity), in: scope, by: "test")
            case .death(let token, let time):
                let report = FeedbackReport(
                    token: self.token(token),
                    status: 410,
                    reason: "Unregistered",
                    timestamp: date(time)
                )
                _ = try await registry.apply([report], in: scope, by: "sender")
            case .end(let activity, let time):
                try await registry.end(id(activity), reason: .ended, observedAt: date(time), in: scope, by: "test")
            case .fullState(let installation, let time, let items):
                let state = FullState(
                    observedAt: date(time),
                    items: items.map {
                        .init(activityID: id($0.activity), registration: registration($0.token, at: time))
                    }
                )
                _ = try await registry.apply(state, of: hash(installation), in: scope, by: "test")
            }
        } catch let problem as Problem where [409, 410].contains(problem.code.status) {
            // A refused request may still have been merged.
        }
    }

    func view(_ activity: Int, tokens: Range<Int>, on registry: Registry) async throws -> ReferenceModel.View? {
        guard let record = try await registry.activity(id(activity), in: scope) else { return nil }
        var bearer: Int?
        for number in 0..<3 where record.status.state == .active && record.token != nil {
            let found = try await registry.activities(under: alias(number), limit: 100, in: scope)
            if found.contains(where: { $0.activityID == id(activity) }) { bearer = number }
        }
        return ReferenceModel.View(
            state: record.status.state,
            token: record.token.flatMap { token in tokens.first { self.token($0) == token } },
            startedAt: record.status.state == .ended ? nil : minutes(record.startedAt),
            startsAt: record.status.state == .ended ? nil : record.startsAt.map(minutes),
            endedAt: record.status.endedAt.map(minutes),
            alias: bearer
        )
    }

    func token(_ number: Int) -> PushToken { PushToken(bytes: Array("\(name)/\(number)".utf8)) }

    private func registration(_ token: Int?, at time: Int) -> ActivityRegistration {
        .sample(token: token.map(self.token), observedAt: date(time))
    }

    private func id(_ activity: Int) -> ActivityID { .sample("\(name)/a\(activity)") }
    private func alias(_ number: Int) -> Alias { .sample("orderId", "\(name)/\(number)") }
    private func date(_ minute: Int) -> Date { start.addingTimeInterval(Double(minute) * 60) }
    private func minutes(_ date: Date) -> Int { Int((date.timeIntervalSince(start) / 60).rounded()) }

    private func hash(_ installation: Int) -> InstallationHash {
        var bytes = Array("\(name)/i".utf8.prefix(31))
        bytes += [UInt8](repeating: 0, count: 31 - bytes.count) + [UInt8(installation)]
        return InstallationHash(bytes: bytes)
    }
}
