// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Apple documents these names.

import Foundation
import Synchronization

/// An activity with Apple's names, types and availability. Tests play the system.
///
/// As in Apple's SDK, the class is not `Sendable`, and its sequences have their own types.
public class Activity<Attributes: ActivityAttributes>: Identifiable {
    public typealias ContentState = Attributes.ContentState
    public typealias PushTokenUpdates = Updates<Data>
    public typealias ActivityStateUpdates = Updates<ActivityState>
    public typealias ActivityUpdates = Updates<Activity<Attributes>>

    public final let id: String
    public final let attributes: Attributes
    let parts: ActivityParts

    init(_ attributes: Attributes, _ parts: ActivityParts) {
        (id, self.attributes, self.parts) = (parts.id, attributes, parts)
    }

    public var activityState: ActivityState { parts.state.value }
    public var activityStateUpdates: ActivityStateUpdates { Updates { [parts] in parts.state.subscribe() } }
    public var pushToken: Data? { parts.token.value }
    public var pushTokenUpdates: PushTokenUpdates { Updates { [parts] in parts.tokens.subscribe() } }

    public func end(using contentState: ContentState?, dismissalPolicy: ActivityUIDismissalPolicy = .default) async {
        await end(contentState.map { ActivityContent(state: $0, staleDate: nil) }, dismissalPolicy: dismissalPolicy)
    }

    public func end(
        _ content: ActivityContent<Activity<Attributes>.ContentState>?,
        dismissalPolicy: ActivityUIDismissalPolicy = .default
    ) async { parts.state.send(dismissalPolicy.isImmediate ? .dismissed : .ended) }
}

extension Activity {
    public static var activities: [Activity<Attributes>] {
        SystemStandIn.of(Attributes.self).parts.map { Activity(decoded($0), $0) }
    }

    public static var activityUpdates: ActivityUpdates {
        Updates {
            let news = SystemStandIn.of(Attributes.self).news.subscribe()
            return AsyncStream<Activity<Attributes>> { continuation in
                let task = Task {
                    for await parts in news { if let parts { continuation.yield(Activity(decoded(parts), parts)) } }
                }
                continuation.onTermination = { _ in task.cancel() }
            }
        }
    }

    public static var pushToStartToken: Data? { SystemStandIn.of(Attributes.self).startToken.value }

    public static var pushToStartTokenUpdates: PushTokenUpdates {
        Updates { SystemStandIn.of(Attributes.self).startTokens.subscribe() }
    }

    public static func request(
        attributes: Attributes,
        content: ActivityContent<Activity<Attributes>.ContentState>,
        pushType: PushType? = nil
    ) throws -> Activity<Attributes> { try begin(attributes, .active) }

    public static func request(
        attributes: Attributes,
        content: ActivityContent<Activity<Attributes>.ContentState>,
        pushType: PushType? = nil,
        style: ActivityStyle,
        alertConfiguration: AlertConfiguration,
        start: Date
    ) throws -> Activity<Attributes> { try begin(attributes, .pending) }

    private static func begin(_ attributes: Attributes, _ state: ActivityState) throws -> Activity<Attributes> {
        let parts = ActivityParts(try JSONEncoder().encode(attributes), state)
        SystemStandIn.of(Attributes.self).add(parts)
        return Activity(attributes, parts)
    }

    private static func decoded(_ parts: ActivityParts) -> Attributes {
        guard let attributes = try? JSONDecoder().decode(Attributes.self, from: parts.attributes) else {
            fatalError("what was encoded can be decoded")
        }
        return attributes
    }
}
