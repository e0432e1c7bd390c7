import Foundation
import PushTokenRegistry
import PushTokenRegistryTestSupport

struct Comparison {
    let life: PhoneLife
    let phone: SimulatedPhone
    let sender: SenderView

    init(_ life: PhoneLife) async {
        self.life = life
        phone = await life.phone
        sender = life.service.sender
    }

    /// All differences, in words without tokens.
    func faults() async throws -> [String] {
        let waiting = await life.waiting()
        var faults = life.network.violations
        if !waiting.isEmpty { faults.append("reports wait: \(waiting)") }
        faults += try await activityFaults()
        for user in await life.users { faults += try await tokenFaults(of: user) }
        for id in life.network.ended.sorted() {
            if try await sender.token(ofActivity: id) != nil { faults.append("\(id) ended, and is handed out") }
        }
        return faults
    }

    private func activityFaults() async throws -> [String] {
        let (orders, signedOut, abandoned) = await (life.orders, life.signedOut, life.abandoned)
        let handed = try await sender.activities(under: orders).filter { !abandoned.contains($0.token) }
        let running = phone.types.flatMap(\.all).filter { $0.phase.runs && $0.token != nil }
        let shown = Dictionary(running.map { ($0.id, PushToken($0.token ?? Data()).hexadecimal) }) { $1 }
        var faults: [String] = []
        for item in handed {
            let id = item.activityID ?? ""
            if shown[id] == nil { faults.append("\(id) is handed out, and does not run") }
            if let token = shown[id], token != item.token { faults.append("\(id) is handed out with another token") }
        }
        if Set(handed.map(\.activityID)).count < handed.count { faults.append("an activity is handed out twice") }
        let ids = Set(handed.compactMap(\.activityID))
        for id in shown.keys.sorted() where !ids.contains(id) && !signedOut.contains(id) {
            faults.append("\(id) runs, and is not handed out: \(try await sender.state(ofActivity: id) ?? "unknown")")
        }
        return faults
    }

    private func tokenFaults(of user: String) async throws -> [String] {
        let isHere = await phone.user == user
        let start = phone.types.compactMap { type in type.startToken().map { (type.name, PushToken($0).hexadecimal) } }
        let isOn = phone.system.areActivitiesEnabled
        let expected: [(String, Set<String>)] = [
            ("start-tokens", isOn ? Set(start.map { "\($0.0) \($0.1)" }) : []),
            ("device-tokens", Set(await phone.deviceToken.map { [Self.own($0.utf8)] } ?? [])),
            ("tokens/widget", Set(await phone.system.widgetToken().map { [Self.own($0)] } ?? [])),
        ]
        var faults: [String] = []
        for (list, tokens) in expected {
            let handed = try await sender.tokens(list, ofUser: user)
            let abandoned = await life.abandoned
            let found = Set(handed.filter { !abandoned.contains($0.token) }.map(Self.text))
            let right = isHere ? tokens : []
            guard found != right else { continue }
            faults.append(
                "\(user)'s \(list): \(found.count) found, \(right.count) on the phone, \(found.subtracting(right).count) wrong"
            )
        }
        return faults
    }

    private static func own(_ token: some Sequence<UInt8>) -> String { " \(PushToken(token).hexadecimal)" }

    private static func text(_ handed: SenderView.Handed) -> String {
        "\(handed.attributesType ?? "") \(handed.token)"
    }
}
