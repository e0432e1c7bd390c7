import RegistryCore

/// A value replaced as a whole by the greatest (`observedAt`, value): aliases and metadata (R6).
package struct Stamped<Value: CanonicalValue>: Sendable, Hashable {
    package let value: Value
    package let observedAt: Timestamp

    package init(_ value: Value, observedAt: Timestamp) { (self.value, self.observedAt) = (value, observedAt) }

    /// Compares canonical bytes if the times are equal, so that the order of arrival does not matter.
    fileprivate func precedes(_ other: Stamped) -> Bool {
        guard observedAt == other.observedAt else { return observedAt < other.observedAt }
        return value.canonicalJSON.lexicographicallyPrecedes(other.value.canonicalJSON)
    }
}

/// A value with equal canonical bytes for equal values.
package protocol CanonicalValue: Sendable, Hashable {
    var canonicalJSON: [UInt8] { get }
}

extension AliasSet: CanonicalValue {}
extension Metadata: CanonicalValue {}

extension Optional {
    mutating func replace<Value>(with new: Value?, observedAt: Timestamp) where Wrapped == Stamped<Value> {
        guard let new else { return }
        let given = Stamped(new, observedAt: observedAt)
        if self.map({ $0.precedes(given) }) ?? true { self = given }
    }

    mutating func keepFirst(_ new: Wrapped?) { if self == nil { self = new } }
}
