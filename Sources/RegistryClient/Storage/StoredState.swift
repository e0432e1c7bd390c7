import Foundation

/// All that outlives the app, as versioned JSON.
package struct StoredState: Sendable, Hashable, Codable {
    /// The version of this form. A file of another one is set aside.
    static let version = 1

    private var version = Self.version
    package var clock = ObservationClock()
    /// The user who is signed in: what is observed before the app says so again is theirs (C14).
    package var user: UTF8Text?
    package var entries: [OutboxEntry] = []

    package init() {}

    /// Reads what ``bytes`` wrote; nil when it is no JSON, or of another version.
    package init?(_ bytes: Data) {
        guard let state = try? JSONDecoder().decode(Self.self, from: bytes), state.version == Self.version else {
            return nil
        }
        self = state
    }

    /// JSON, in the order of names.
    package var bytes: Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Nothing in it can fail to encode: texts, whole numbers, lists.
        return (try? encoder.encode(self)) ?? Data()
    }
}
