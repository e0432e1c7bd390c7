import NIOCore

/// The place of a connection among all, in its pipeline before everything else.
final class ConnectionSlot: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    private let slot: ConnectionTable<any Channel>.Slot
    private let count: ConnectionCount
    /// Requests that are being read or answered; HTTP/2 may have several.
    private var open = 0

    init(_ slot: ConnectionTable<any Channel>.Slot, of count: ConnectionCount) {
        self.slot = slot
        self.count = count
    }

    /// Notes that requests have begun or, below 0, ended.
    func noteOpen(_ change: Int) {
        let wasIdle = open == 0
        open += change
        if wasIdle != (open == 0) { count.note(slot, isIdle: open == 0) }
    }
}

extension Channel {
    /// Closes the connection without what its layers would still say: a TLS peer that says nothing would stay for seconds.
    func closeAtOnce() {
        eventLoop.execute {
            guard let slot = try? self.pipeline.syncOperations.context(handlerType: ConnectionSlot.self) else {
                return self.close(promise: nil)
            }
            slot.close(promise: nil)
        }
    }
}
