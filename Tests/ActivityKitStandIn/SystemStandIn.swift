// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Apple documents these names.

import Foundation
import Synchronization

/// The parts of an activity that all its objects share.
public final class ActivityParts: Sendable {
    public let id = UUID().uuidString
    let attributes: Data
    let state: Broadcast<ActivityState>
    let token = Broadcast<Data?>(nil)
    let tokens = Broadcast(Data())

    init(_ attributes: Data, _ state: ActivityState) {
        self.attributes = attributes
        self.state = Broadcast(state)
    }
}

/// The system behind ActivityKit for one attributes type, controlled by tests.
public final class SystemStandIn: Sendable {
    private static let all = Mutex<[ObjectIdentifier: SystemStandIn]>([:])
    let startToken = Broadcast<Data?>(nil)
    let startTokens = Broadcast(Data())
    let news = Broadcast<ActivityParts?>(nil)
    private let activities = Mutex<[ActivityParts]>([])
    var parts: [ActivityParts] { activities.withLock { $0 } }

    public static func of<Attributes: ActivityAttributes>(_ type: Attributes.Type) -> SystemStandIn {
        all.withLock { all in
            let id = ObjectIdentifier(type)
            let system = all[id] ?? SystemStandIn()
            all[id] = system
            return system
        }
    }

    func add(_ parts: ActivityParts) {
        activities.withLock { $0.append(parts) }
        news.send(parts)
    }

    private func part(_ id: String) -> ActivityParts? { parts.first { $0.id == id } }

    public func give(_ token: Data, toActivity id: String) {
        part(id)?.token.send(token)
        part(id)?.tokens.send(token)
    }

    public func change(_ id: String, to state: ActivityState) { part(id)?.state.send(state) }

    /// Changes the start token, with or without an element in the stream.
    public func give(startToken: Data, isSilent: Bool = false) {
        self.startToken.send(startToken)
        if !isSilent { startTokens.send(startToken) }
    }
}
