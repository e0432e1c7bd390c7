import NIOCore

/// The connection's entry in the table. First handler of the pipeline.
final class ConnectionSlot: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    private let slot: ConnectionTable<any Channel>.Slot
    private let count: ConnectionCount
    /// Active requests. HTTP/2 can have several.
    private var open = 0

    init(_ slot: ConnectionTable<any Channel>.Slot, of count: ConnectionCount) {
        self.slot = slot
        self.count = count
    }

    func noteOpen(_ change: Int) {
        let wasIdle = open == 0
        open += change
        if wasIdle != (open == 0) { count.mark(slot, isIdle: open == 0) }
    }
}

extension Channel {
    /// Closes without the final messages of TLS and HTTP/2, because a silent peer would delay the close for seconds.
    func closeAtOnce() {
        eventLoop.execute {
            guard let slot = try? self.pipeline.syncOperations.context(handlerType: ConnectionSlot.self) else {
                return self.close(promise: nil)
            }
            slot.close(promise: nil)
        }
    }
}
