import RegistryCore

/// A value that is replaced as a whole by the greatest (`observedAt`, value): aliases and metadata (R6).
package struct Stamped<Value: CanonicalValue>: Sendable, Hashable {
    package let value: Value
    package let observedAt: Timestamp

    package init(_ value: Value, observedAt: Timestamp) {
        self.value = value
        self.observedAt = observedAt
    }

    /// The bytes of the canonical form decide between values of one time, so that their order of arrival does not.
    fileprivate func precedes(_ other: Stamped) -> Bool {
        guard observedAt == other.observedAt else { return observedAt < other.observedAt }
        return value.canonicalJSON.lexicographicallyPrecedes(other.value.canonicalJSON)
    }
}

/// A value with one form for equal values.
package protocol CanonicalValue: Sendable, Hashable {
    var canonicalJSON: [UInt8] { get }
}

extension AliasSet: CanonicalValue {}
extension Metadata: CanonicalValue {}

extension Optional {
    /// Replaces the value by a later one (R6).
    mutating func replace<Value>(with new: Value?, observedAt: Timestamp) where Wrapped == Stamped<Value> {
        guard let new else { return }
        let given = Stamped(new, observedAt: observedAt)
        if self.map({ $0.precedes(given) }) ?? true { self = given }
    }

    /// Keeps the first value received (R6).
    mutating func keepFirst(_ new: Wrapped?) {
        if self == nil { self = new }
    }
}
