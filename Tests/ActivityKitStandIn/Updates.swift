// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Apple documents these names.

import Foundation

/// A sequence that subscribes when its iterator is made.
public struct Updates<Element>: AsyncSequence {
    let subscribe: () -> AsyncStream<Element>

    public struct Iterator: AsyncIteratorProtocol {
        var iterator: AsyncStream<Element>.Iterator

        public mutating func next() async -> Element? { await iterator.next() }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(iterator: subscribe().makeAsyncIterator()) }
}
