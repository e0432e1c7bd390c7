import Foundation
import RegistryClient

extension ActivityWatch {
    /// Activities were listed, or one came in the stream.
    func see(_ sightings: [Sighting]) {
        let look = ledger.beginLook(isLaunch: isLaunch)
        for sighting in sightings { see(sighting, look) }
        endOlderOnes()
    }

    private var isLaunch: Bool { rule.map { clock.now().uptime < $0.earliest } ?? true }

    private func see(_ sighting: Sighting, _ look: Int) {
        let activity = sighting.activity
        let liveactivityID = sighting.type.keepsNewest ? activity.aliases["liveactivityId"].map { UTF8Text($0) } : nil
        switch ledger.see(activity.id, liveactivityID: liveactivityID, phase: activity.phase, look: look) {
        case .isNew: follow(sighting)
        // It ended while nobody looked: nobody knows whether the user swiped it away.
        case .isOver: tell(.end, of: activity.id)
        case .isKnown: break
        }
        read(activity)
    }

    /// The properties may know what the streams have not said, or never say (C2).
    func read(_ activity: any PhoneActivity) {
        changed(to: activity.phase, activity.id)
        if let token = activity.token { found(token, ofActivity: activity.id) }
    }

    private func follow(_ sighting: Sighting) {
        let id = sighting.activity.id
        let tasks = [
            listen(to: sighting.tokens) { await $0.found($1, ofActivity: id) },
            listen(to: sighting.phases) { await $0.changed(to: $1, id) },
        ]
        followed[id] = FollowedActivity(type: sighting.type, activity: sighting.activity, tasks: tasks)
    }

    private func found(_ token: Data, ofActivity id: String) {
        guard let followed = followed[id], ledger.takes(token, of: id) else { return }
        let registration = ActivityRegistration(followed.activity, of: followed.type, on: phone, token: token)
        outlet.report(.registration(registration), clock.now())
    }

    private func changed(to phase: ActivityPhase, _ id: String) {
        if let end = ledger.end(by: phase, of: id) {
            tell(end, of: id)
            for task in followed.removeValue(forKey: id)?.tasks ?? [] { task.cancel() }
        }
        endOlderOnes()
    }

    private func tell(_ end: ActivityEnd, of id: String) {
        outlet.report(.end(activityID: UTF8Text(id), isDismissal: end == .dismissal), clock.now())
    }

    /// The app is about to end an activity, whose dismissal then is not the user's.
    package func endsHere(_ id: String) { ledger.endsHere(id) }

    private func endOlderOnes() {
        for id in ledger.olderOnes() {
            guard let activity = followed[id]?.activity else { continue }
            ledger.endsHere(id)
            Task { await activity.end() }
        }
    }
}
