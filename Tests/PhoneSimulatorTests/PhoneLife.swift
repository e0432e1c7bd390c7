import Foundation
import PushTokenRegistry
import PushTokenRegistryTestSupport
import TestSupport

/// The life of a phone, step by step. At its end the phone is compared with a sender's view.
actor PhoneLife {
    let service: SimulatedService
    let clock: TestClock
    let network: SimulatedNetwork
    let name: String
    private(set) var phone: SimulatedPhone

    var orders: [String] = []
    /// Activities that existed at a sign-out. The registry may have ended them.
    var signedOut: Set<String> = []
    /// Tokens of replaced phones. No phone can report them any more.
    var abandoned: Set<String> = []
    private var numbers = 0
    /// All tokens so far, in hex.
    private var given: Set<String> = []

    /// The simulated time starts this long before the real time and never passes it, because the registry uses Postgres's clock.
    static let headStart = Duration.seconds(4 * 86_400)
    /// Time for the quiet end of a life.
    private static let reserve = Duration.seconds(1800)

    init(_ name: String, on service: SimulatedService, seed: UInt64 = 0, headStart: Duration = headStart) {
        (self.name, self.service) = (name, service)
        clock = TestClock(beginning: Timestamp(Date()) + (.zero - headStart))
        network = SimulatedNetwork(service, clock: clock, seed: seed &+ 1)
        phone = SimulatedPhone(name, service, clock: clock, network: network)
    }

    var users: [String] { (0..<3).map { "\(name)-u\($0)" } }

    private func next(_ kind: String) -> String {
        numbers += 1
        return "\(name)-\(kind)\(numbers)"
    }

    private func nextToken(_ kind: String) -> String {
        let token = next(kind)
        given.insert(PushToken(token.utf8).hexadecimal)
        return token
    }

    func play(_ step: Step) async {
        network.diary.add("\(step)")
        // Each step has its own millisecond.
        goOn(0.01)
        await rememberSigningOut()
        await take(step)
        await phone.rest()
    }

    private func take(_ step: Step) async {
        switch step {
        case .activityBegins, .activityIsScheduled, .scheduledOneStarts, .tokenRotates, .activityEnds, .userSwipes,
            .endedOneSpeaks, .endedOnesLeaveTheList, .activityGoesStale:
            takeActivity(step)
        case .startToken, .deviceToken, .widgetToken, .activitiesAreSwitched: await takeToken(step)
        case .launch, .kill, .killAtWrite, .foreground, .background, .restart, .prewarm, .unlock, .newPhoneFromBackup:
            await takeProcess(step)
        case .network(let mode): network.setMode(mode)
        case .handedOverOnesGo(let count): await network.handedOverOnesGo(count)
        case .lateOnesArrive(let count): await network.lateOnesArrive(count)
        case .someArriveAgain(let count): await network.arriveAgain(count)
        case .time(let seconds):
            goOn(seconds)
            if seconds > 8 * 3600 { endOldActivities() }
        case .clock(let ahead): clock.set(ahead: ahead)
        case .signIn(let number): await signIn(users[number])
        case .signOut:
            await rememberSignOut()
            await phone.signOut()
        case .session(let session): phone.session.withLock { $0 = session }
        }
    }

    func goOn(_ seconds: Double) {
        let end = clock.rightTime + .seconds(seconds) + Self.reserve
        if end < Timestamp(Date()) { clock.advance(by: seconds) }
    }

    var activities: [FakeActivity] { phone.types.flatMap(\.all) }

    private func takeActivity(_ step: Step) {
        switch step {
        case .activityBegins(let reuses): begin(order: reuses ? orders.last : nil)
        case .activityIsScheduled: begin(startsAt: clock.rightTime.date.addingTimeInterval(1800))
        case .scheduledOneStarts(let number): pick(number) { $0.phase == .pending }?.change(to: .active)
        case .tokenRotates(let number, let rotation): rotate(number, rotation)
        case .activityEnds(let number): pick(number, \.phase.runs)?.change(to: .ended)
        case .userSwipes(let number): pick(number, \.phase.runs)?.change(to: .dismissed)
        case .endedOneSpeaks(let number):
            if let activity = pick(number, { !$0.phase.runs }), let token = activity.token {
                activity.streamToken(String(decoding: token, as: UTF8.self))
            }
        case .endedOnesLeaveTheList: leaveTheList()
        case .activityGoesStale(let number): pick(number) { $0.phase == .active }?.change(to: .stale)
        default: break
        }
    }

    private func pick(_ number: Int, _ condition: (FakeActivity) -> Bool) -> FakeActivity? {
        let candidates = activities.filter(condition)
        return candidates.isEmpty ? nil : candidates[number % candidates.count]
    }

    /// iOS ends an activity eight hours after its start.
    private func endOldActivities() {
        for activity in activities where [.active, .stale].contains(activity.phase) { activity.change(to: .ended) }
    }

    @discardableResult
    func begin(order: String? = nil, startsAt: Date? = nil, hasToken: Bool? = nil) -> FakeActivity {
        let id = next("a")
        let order = order ?? "\(id)-order"
        if orders.last != order { orders.append(order) }
        // Most activities have no token at first.
        let token = hasToken ?? numbers.isMultiple(of: 3) ? nextToken("t") : nil
        let phase = startsAt == nil ? ActivityPhase.active : .pending
        let activity = FakeActivity(id, order, phase: phase, token: token, startsAt: startsAt)
        phone.types[numbers % 2].begin(activity)
        return activity
    }

    func tokenComes(to activity: FakeActivity) { activity.deliverToken(nextToken("t")) }

    private func rotate(_ number: Int, _ rotation: Step.Rotation) {
        guard let activity = pick(number, \.phase.runs) else { return }
        switch rotation {
        case .streamed: tokenComes(to: activity)
        case .silent: activity.setToken(nextToken("t"))
        }
    }

    private func leaveTheList() {
        for type in phone.types {
            for activity in type.all where !activity.phase.runs { type.removeFromList(activity.id) }
        }
    }

    private func takeToken(_ step: Step) async {
        switch step {
        case .startToken(let type, let isSilent):
            let token = nextToken("s")
            phone.types[type].setStartToken(token)
            if !isSilent { phone.types[type].streamStartToken(token) }
        case .deviceToken: await phone.setDeviceToken(nextToken("d"))
        case .widgetToken(let isRemoved):
            phone.system.setWidgetToken(isRemoved ? nil : Data(nextToken("w").utf8))
        case .activitiesAreSwitched(let on): phone.system.setSwitch(on: on)
        default: break
        }
    }

    private func takeProcess(_ step: Step) async {
        switch step {
        case .launch(let listIsLate): await launch(listIsLate: listIsLate)
        case .kill: await phone.killApp()
        case .killAtWrite(let moment, let write): await phone.app?.end.comes(at: moment, write: write)
        case .foreground: await comeToForeground()
        case .background: await goToBackground()
        case .restart: await phone.restart(boot: next("boot"))
        case .prewarm:
            await phone.restart(boot: next("boot"))
            await phone.launch()
        case .unlock: await phone.unlock()
        case .newPhoneFromBackup: await replace()
        default: break
        }
    }

    private func launch(listIsLate: Bool) async {
        guard await phone.app == nil else { return }
        if listIsLate { for type in phone.types { type.setHidden(true) } }
        await phone.launch()
        guard listIsLate else { return }
        await phone.rest()
        goOn(0.5)
        for type in phone.types { type.setHidden(false) }
    }

    func comeToForeground() async {
        await rememberSigningOut()
        await phone.unlock()
        if await phone.app == nil { await launch(listIsLate: false) }
        await phone.rest()
        phone.system.enterForeground()
    }

    private func goToBackground() async {
        phone.system.enterBackground()
        await suspend()
    }

    /// Gives a running app the background time that it asks for, within limits.
    func suspend() async {
        await phone.rest()
        for _ in 0..<20 where phone.system.backgroundTasks > 0 {
            goOn(6)
            await phone.rest()
        }
    }

    private func replace() async {
        await phone.killApp()
        abandoned = given
        phone = SimulatedPhone(name, service, clock: clock, network: network, user: await phone.user)
    }

    private func signIn(_ user: String) async {
        if let before = await phone.user, before != user { await rememberSignOut() }
        await phone.signIn(user)
    }

    private func rememberSignOut() async {
        if await phone.app != nil, await phone.isUnlocked { signedOut.formUnion(activities.map(\.id)) }
    }

    /// An app that died during a sign-out or a change of users repeats it, and ends activities that began meanwhile.
    private func rememberSigningOut() async {
        let (isSigningOut, isChangingUser) = await (phone.isSigningOut, phone.isChangingUser)
        if isSigningOut || isChangingUser { signedOut.formUnion(activities.map(\.id)) }
    }

    /// Restores network, credentials and foreground, and waits until no report is left.
    func becomeQuiet() async {
        network.setMode(.online)
        await network.lateOnesArrive()
        await network.handedOverOnesGo()
        phone.session.withLock { $0 = .valid }
        await phone.app?.end.isCalledOff()
        for _ in 0..<30 {
            await comeToForeground()
            await phone.rest()
            goOnInTheReserve(6)
            await phone.rest()
            phone.system.enterForeground()
            await phone.rest()
            if await waiting().isEmpty { break }
            goOnInTheReserve(60)
        }
    }

    /// The reports that wait but should not.
    ///
    /// The registry may know an activity as the former user's, ended by a log-out. A report on it is refused as another's and kept for a
    /// day (C13). The log-out of an unknown user is kept too. The tokens show the effect of a log-out.
    func waiting() async -> [String] {
        guard let app = await phone.app else { return ["the app does not run"] }
        return await app.waiting().filter { name in
            switch name {
            case .activity(let id), .end(ofActivity: let id): !signedOut.contains(id)
            case .logOut: false
            default: true
            }
        }.map { "\($0)" }
    }

    private func goOnInTheReserve(_ seconds: Double) {
        if clock.rightTime + .seconds(seconds) < Timestamp(Date()) { clock.advance(by: seconds) }
    }

    /// The faults once nothing more happens; with `repeatsAll`, also after all requests have arrived once more.
    func endFaults(repeatsAll: Bool = false) async throws -> [String] {
        await becomeQuiet()
        var faults = try await compared()
        if repeatsAll, faults.isEmpty {
            await network.arriveAgain()
            faults = try await compared().map { "after all arrived again: \($0)" }
        }
        await phone.killApp()
        return faults
    }

    /// Tries again, because the phone's last report may still be on its way within the app.
    func compared() async throws -> [String] {
        var faults: [String] = []
        for _ in 0..<20 {
            faults = try await Comparison(self).faults()
            if faults.isEmpty { break }
            await phone.rest()
            // The service limits the full states of an installation. After two of them it requests a pause of a second.
            goOnInTheReserve(1)
            await phone.rest()
        }
        return faults
    }
}
