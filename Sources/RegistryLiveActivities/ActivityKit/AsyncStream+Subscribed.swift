extension AsyncStream where Element: Sendable {
    /// A stream of what another one gives. The other's iterator is made before this returns, so that nothing of it is missed.
    static func subscribed<Source: AsyncSequence>(
        to source: sending Source,
        _ transform: @escaping @Sendable (Source.Element) -> Element
    ) -> AsyncStream<Element> where Source.AsyncIterator: SendableMetatype {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self)
        let iterator = source.makeAsyncIterator()
        let task = Task {
            var iterator = iterator
            while let element = try? await iterator.next() { continuation.yield(transform(element)) }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }
}
