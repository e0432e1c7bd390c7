import ActivityKit
import Foundation

protocol ExampleAttributes: ActivityAttributes where ContentState == ExampleContent {}

struct ExampleContent: Codable, Hashable, Sendable {}

struct RideAttributes: ExampleAttributes {
    let rideID: String
}

struct MatchAttributes: ExampleAttributes {}

struct OwnAttributes: ExampleAttributes {}

struct ScheduledAttributes: ExampleAttributes {
    let kickOff: Date
}

struct StartedAttributes: ExampleAttributes {}

struct ListedAttributes: ExampleAttributes {}

struct SleepingAttributes: ExampleAttributes {}

struct WokenAttributes: ExampleAttributes {}

struct SlowAttributes: ExampleAttributes {}
