// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Apple documents these names.

import Foundation
import Synchronization

/// A sequence that subscribes when its iterator is made.
public struct Updates<Element>: AsyncSequence {
    let subscribe: () -> AsyncStream<Element>

    public struct Iterator: AsyncIteratorProtocol {
        var iterator: AsyncStream<Element>.Iterator

        public mutating func next() async -> Element? { await iterator.next() }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(iterator: subscribe().makeAsyncIterator()) }
}

final class Broadcast<Value: Sendable>: Sendable {
    private let state: Mutex<(value: Value, listeners: [AsyncStream<Value>.Continuation])>

    init(_ value: Value) { state = Mutex((value, [])) }

    var value: Value { state.withLock { $0.value } }

    func send(_ value: Value) {
        state.withLock { state in
            state.value = value
            for listener in state.listeners { listener.yield(value) }
        }
    }

    /// Delivers only elements that arrive after the subscription.
    func subscribe() -> AsyncStream<Value> {
        let (stream, listener) = AsyncStream.makeStream(of: Value.self)
        state.withLock { $0.listeners.append(listener) }
        return stream
    }
}
