import Foundation
import RegistryClient

extension ActivityWatch {
    /// Reads the switch and all start tokens: the stream says nothing of one that went stale (C3).
    func readStartTokens() {
        turned(on: phone.areActivitiesEnabled)
        readTokens()
    }

    /// A start token came, or was read.
    func found(_ token: Data, of type: FollowedType) {
        let now = clock.now()
        guard startTokens.takes(token, of: type.name, at: now.uptime) else { return }
        outlet.report(.startToken(attributesType: UTF8Text(type.name), Token(token)), now)
    }

    /// The switch was moved.
    func switched(on: Bool) {
        turned(on: on)
        if on { readTokens() }
    }

    /// Start tokens of a user who has switched activities off are taken back (C4).
    private func turned(on: Bool) {
        guard startTokens.isSwitched(on: on) else { return }
        for type in types { outlet.report(.startToken(attributesType: UTF8Text(type.name), nil), clock.now()) }
    }

    private func readTokens() { for type in types { if let token = type.startToken() { found(token, of: type) } } }

    /// A moment at which to look again.
    func comes(_ moment: PhoneMoment) async {
        guard moment != .background else { return handOver() }
        outlet.tryAgain()
        readStartTokens()
        await tellAll()
    }
}
