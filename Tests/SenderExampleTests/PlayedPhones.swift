import APNsStandIn
import Foundation
import HTTPTypes
import RegistryCore
import Synchronization
import TestSupport

/// The phones of an hour, with an app on each that registers its tokens.
final class PlayedPhones: Sendable {
    static let topic = "\(PlayedService.bundleID).push-type.liveactivity"

    private struct State: Sendable {
        var tokens: [String: String] = [:]
        var startTokens: [String: String] = [:]
        var started: [ShownActivity] = []
        var uninstalled: Set<String> = []
        var dismissed: Set<String> = []
        var tasks: [Task<Void, any Error>] = []
    }

    let service: PlayedService
    let standIn: APNsStandIn
    private let state = Mutex(State())

    private init(_ service: PlayedService, _ standIn: APNsStandIn) {
        self.service = service
        self.standIn = standIn
    }

    /// Runs a new stand-in. Its phones register the activities that it starts.
    static func run<Value>(
        _ service: PlayedService,
        _ clock: APNsClock,
        _ body: (PlayedPhones) async throws -> Value
    ) async throws -> Value {
        let (starts, beginning) = AsyncStream.makeStream(of: ShownActivity.self)
        return try await APNsStandIn.run(clock: clock, onStart: { beginning.yield($0) }) { standIn in
            let phones = PlayedPhones(service, standIn)
            let began = Task { for await activity in starts { phones.run { try await $0.began(activity) } } }
            let outcome: Result<Value, any Error>
            do { outcome = .success(try await body(phones)) } catch { outcome = .failure(error) }
            beginning.finish()
            await began.value
            return try outcome.get()
        }
    }

    var started: [ShownActivity] { state.withLock { $0.started } }

    func isReachable(_ phone: String, _ alias: String) -> Bool {
        state.withLock { !$0.uninstalled.contains(phone) && !$0.dismissed.contains("\(phone) \(alias)") }
    }

    func run(_ body: @escaping @Sendable (PlayedPhones) async throws -> Void) {
        let task = Task { try await body(self) }
        state.withLock { $0.tasks.append(task) }
    }

    /// - Throws: the first error of the background work.
    func settle() async throws { while let task = state.withLock({ $0.tasks.popLast() }) { try await task.value } }

    func install(_ phone: String) async throws {
        let token = Self.newToken()
        standIn.change { $0.add(token, .start(phone: phone), topic: Self.topic) }
        state.withLock { $0.startTokens[phone] = token }
        let user = phone.replacingOccurrences(of: "phone", with: "user")
        try await service.call(.put, "installations/\(phone)", ["aliases": ["userId": .string(user)]])
        try await service.call(
            .put,
            "installations/\(phone)/start-tokens/DeliveryAttributes",
            ["token": .string(token)]
        )
    }

    /// A started activity gets its token a little later, and the app registers it.
    func began(_ activity: ShownActivity) async throws {
        state.withLock { $0.started.append(activity) }
        try await pass(.random(in: 1...10))
        try await giveToken(activity)
    }

    /// Gives each activity of a phone another token. The old tokens are dead at once, before the app registers the new ones.
    func rotate(_ phone: String) async throws {
        for activity in shown(on: phone) {
            guard let old = state.withLock({ $0.tokens[activity.id] }) else { continue }
            standIn.change { $0.kill(old, at: Date()) }
            try await pass(.random(in: 20...120))
            try await giveToken(activity)
        }
    }

    func dismiss(_ phone: String) async throws {
        for activity in shown(on: phone) {
            state.withLock { _ = $0.dismissed.insert("\(phone) \(activity.alias)") }
            standIn.change { $0.dismiss(activity.id, on: phone) }
            if let token = state.withLock({ $0.tokens[activity.id] }) { standIn.change { $0.kill(token, at: Date()) } }
            try await pass(.random(in: 20...120))
            try await service.call(.delete, "activities/\(activity.id)?reason=dismissed")
        }
    }

    func uninstall(_ phone: String) {
        let dead = state.withLock { state in
            state.uninstalled.insert(phone)
            return [state.startTokens[phone]] + state.tokens.filter { $0.key.hasPrefix(phone + "-") }.map { $0.value }
        }
        for token in dead.compactMap({ $0 }) { standIn.change { $0.kill(token, at: Date()) } }
    }

    private func giveToken(_ activity: ShownActivity) async throws {
        try await until { standIn.read { $0.phones[activity.phone]?.isOnline == true } }
        guard isReachable(activity.phone, activity.alias) else { return }
        let (token, observed) = (Self.newToken(), Date())
        standIn.change { $0.add(token, .activity(phone: activity.phone, id: activity.id), topic: Self.topic) }
        state.withLock { $0.tokens[activity.id] = token }
        let body: JSONValue = [
            "token": .string(token), "aliases": ["liveactivityId": .string(activity.alias)],
            "installationId": .string(activity.phone), "attributesType": "DeliveryAttributes",
            "observedAt": .string(RFC3339.format(observed)),
        ]
        try await service.call(.put, "activities/\(activity.id)", body, mayComeLate: true)
    }

    private func shown(on phone: String) -> [ShownActivity] {
        standIn.read { $0.phones[phone]?.activities.values.filter { !$0.isEnded } ?? [] }
    }

    private func pass(_ seconds: Double) async throws {
        try await Task.sleep(for: standIn.clock.pause(seconds: seconds))
    }

    private static func newToken() -> String {
        (0..<40).map { _ in String(format: "%02x", UInt8.random(in: 0...255)) }.joined()
    }
}
