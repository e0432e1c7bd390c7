import Logging
import NIOCore
import RegistryCore
import Synchronization

final class ConnectionCount: Sendable {
    private let trusted: [AddressRange]
    private let logger: Logger
    private let state: Mutex<State>

    private struct State {
        var table: ConnectionTable<any Channel>
        var warnedAt: NIODeadline?
    }

    /// - Parameter trusted: Addresses without a limit: this machine, and proxies, because they have many callers.
    init(_ limits: ServerConfiguration.Limits, trusted: [AddressRange], logger: Logger) {
        self.trusted = trusted
        self.logger = logger
        let table = ConnectionTable<any Channel>(most: limits.connections, mostOfNetwork: limits.addressConnections)
        state = Mutex(State(table: table))
    }

    var open: Int { state.withLock { $0.table.count } }

    /// Counts a connection while it is open, and closes the connection that it replaces, if any. The connection's
    /// handlers report to the returned slot whether it is idle.
    func admit(_ channel: any Channel) throws -> ConnectionSlot {
        let address = IPAddress(channel.remoteAddress)
        let isTrusted = address.map { address in trusted.contains { $0.contains(address) } } ?? true
        let (admission, isNews) = state.withLock { state in
            let admission = state.table.admit(channel, from: address.map(CallerNetwork.init(of:)), isTrusted: isTrusted)
            return (admission, Self.isNews(admission, &state.warnedAt))
        }
        if isNews { warn(about: address, admission) }
        guard case .admitted(let slot, let closing) = admission else { throw TooManyConnections() }
        closing?.closeAtOnce()
        channel.closeFuture.whenComplete { [self] _ in state.withLock { $0.table.remove(slot) } }
        let handler = ConnectionSlot(slot, of: self)
        try channel.pipeline.syncOperations.addHandler(handler)
        return handler
    }

    func closeAll() {
        for channel in state.withLock({ $0.table.connections }) { channel.closeAtOnce() }
    }

    func mark(_ slot: ConnectionTable<any Channel>.Slot, isIdle: Bool) {
        state.withLock { $0.table.mark(slot, isIdle: isIdle) }
    }

    /// Limits log messages to one per minute.
    private static func isNews(_ admission: ConnectionTable<any Channel>.Decision, _ last: inout NIODeadline?) -> Bool {
        if case .admitted(_, closing: nil) = admission { return false }
        let now = NIODeadline.now()
        if let last, now < last + .minutes(1) { return false }
        last = now
        return true
    }

    private func warn(about address: IPAddress?, _ admission: ConnectionTable<any Channel>.Decision) {
        let network = address.map { CallerNetwork(of: $0).description } ?? "-"
        switch admission {
        case .refused: logger.warning("connections are refused: too many are open", metadata: ["network": "\(network)"])
        case .admitted: logger.warning("too many connections are open: idle connections are closed")
        }
    }
}

struct TooManyConnections: Error {}

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
