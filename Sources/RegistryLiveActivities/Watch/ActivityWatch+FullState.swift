import RegistryClient

extension ActivityWatch {
    /// Tells all that runs, if the phone's list can be believed now (C7).
    func tellAll() async {
        let isAvailable = await phone.isProtectedDataAvailable()
        guard let rule, rule.allows(at: clock.now().uptime, isProtectedDataAvailable: isAvailable) else { return }
        // The time first: what begins while the list is read is then observed later than the list.
        let time = clock.now()
        let listed = types.flatMap { type in type.activities().map { (activity: $0, type: type) } }
        let ids = Set(listed.map(\.activity.id))
        // The list may lack what the stream has shown already.
        let unlisted = followed.values.filter { !ids.contains($0.activity.id) }
        let all = listed + unlisted.map { (activity: $0.activity, type: $0.type) }
        let running = all.filter(\.activity.phase.runs).sorted { $0.activity.id < $1.activity.id }
        outlet.report(.fullState(running.map { ActivityRegistration($0.activity, of: $0.type, on: phone) }), time)
        see(listed.filter { !ledger.knows($0.activity.id) }.map { Sighting($0.activity, of: $0.type) })
        for followed in followed.values { read(followed.activity) }
    }
}
