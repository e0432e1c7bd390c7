import PushTokenRegistryTestSupport

@testable import PushTokenRegistry

/// The tokens that a sender sees after some reports in any order: a small model of R2, R4 and R9.
struct SenderView: Equatable {
    var activityTokens: [String: String] = [:]
    var startTokens: [String: String] = [:]
    var installationTokens: [InstallationTokenKind: String] = [:]

    init(_ entries: [OutboxEntry]) {
        let facts = Facts(entries)
        for (id, activity) in facts.activities where activity.isSeen(facts) {
            activityTokens[id] = activity.token?.value
        }
        for (type, token) in facts.startTokens where token.time > facts.logOut { startTokens[type] = token.value }
        for (kind, token) in facts.installationTokens where token.time > facts.logOut {
            installationTokens[kind] = token.value
        }
    }

    private struct Timed {
        var value: String?
        var time: Timestamp
    }

    private struct Activity {
        var token: Timed?
        var start = Timestamp.at(1_000_000)
        var lastObserved = Timestamp.distantPast
        var isEnded = false

        mutating func observe(_ registration: ActivityRegistration, at time: Timestamp) {
            start = min(start, registration.startedAt ?? time)
            lastObserved = max(lastObserved, time)
            guard let value = registration.token?.hexadecimal, time > token?.time ?? .distantPast else { return }
            token = Timed(value: value, time: time)
        }

        func isSeen(_ facts: Facts) -> Bool { !isEnded && start > facts.logOut && lastObserved >= facts.fullState }
    }

    private struct Facts {
        var activities: [String: Activity] = [:]
        var startTokens: [String: Timed] = [:]
        var installationTokens: [InstallationTokenKind: Timed] = [:]
        var logOut = Timestamp.distantPast
        var fullState = Timestamp.distantPast

        init(_ entries: [OutboxEntry]) { for entry in entries { merge(entry.report, entry.observedAt) } }

        private mutating func merge(_ report: Report, _ time: Timestamp) {
            switch report {
            case .registration(let registration): observe(registration, time)
            case .end(let id, _): activities[id, default: Activity()].isEnded = true
            case .startToken(let type, let token):
                guard time > startTokens[type]?.time ?? .distantPast else { return }
                startTokens[type] = Timed(value: token?.hexadecimal, time: time)
            case .installationToken(let kind, let token):
                guard time > installationTokens[kind]?.time ?? .distantPast else { return }
                installationTokens[kind] = Timed(value: token?.hexadecimal, time: time)
            case .installation: break
            case .fullState(let listed):
                fullState = max(fullState, time)
                for registration in listed { observe(registration, time) }
            case .logOut: logOut = max(logOut, time)
            }
        }

        private mutating func observe(_ registration: ActivityRegistration, _ time: Timestamp) {
            activities[registration.activityID, default: Activity()].observe(registration, at: time)
        }
    }
}
