import HummingbirdCore
import Logging
import NIOCore
import Synchronization

/// Which connections a port has open, and closes those that are too many.
final class ConnectionCount: Sendable {
    /// How many may be open beyond the limit until those that gave way have closed; then nobody is let in for a moment.
    static let closing = 128

    private let trusted: [AddressRange]
    private let logger: Logger
    private let state: Mutex<State>

    private struct State {
        var table: ConnectionTable<any Channel>
        var warnedAt: NIODeadline?
    }

    /// - Parameter trusted: Addresses that may have any number: this machine, and proxies, behind which many callers are.
    init(_ limits: ServerConfiguration.Limits, trusted: [AddressRange], logger: Logger) {
        self.trusted = trusted
        self.logger = logger
        let table = ConnectionTable<any Channel>(most: limits.connections, mostOfNetwork: limits.addressConnections)
        state = Mutex(State(table: table))
    }

    /// How many there are.
    var open: Int { state.withLock { $0.table.count } }

    /// Counts a connection for as long as it is open, and closes the one that gives way to it.
    ///
    /// - Throws: `TooManyConnections`.
    func admit(_ channel: any Channel) throws {
        let address = IPAddress(channel.remoteAddress)
        let isTrusted = address.map { address in trusted.contains { $0.contains(address) } } ?? true
        let (admission, isNews) = state.withLock { state in
            let admission = state.table.admit(channel, from: address.map(CallerNetwork.init(of:)), isTrusted: isTrusted)
            return (admission, Self.isNews(admission, &state.warnedAt))
        }
        if isNews { warn(about: address, admission) }
        guard case .admitted(let seat, let closing) = admission else { throw TooManyConnections() }
        closing?.closeAtOnce()
        channel.closeFuture.whenComplete { [self] _ in state.withLock { $0.table.remove(seat) } }
        try channel.pipeline.syncOperations.addHandler(ConnectionSeat(seat, of: self))
    }

    fileprivate func note(_ seat: ConnectionTable<any Channel>.Seat, isIdle: Bool) {
        state.withLock { $0.table.note(seat, isIdle: isIdle) }
    }

    /// Whether the log should tell of it: once a minute, whatever comes.
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
        case .admitted: logger.warning("as many connections are open as there may be: idle ones are closed for others")
        }
    }
}

/// The place of a connection among all, in its pipeline before everything else.
final class ConnectionSeat: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    private let seat: ConnectionTable<any Channel>.Seat
    private let count: ConnectionCount
    /// Requests that are being read or answered; HTTP/2 may have several.
    private var open = 0

    fileprivate init(_ seat: ConnectionTable<any Channel>.Seat, of count: ConnectionCount) {
        self.seat = seat
        self.count = count
    }

    /// Notes that requests have begun or, below 0, ended.
    func noteOpen(_ change: Int) {
        let wasIdle = open == 0
        open += change
        if wasIdle != (open == 0) { count.note(seat, isIdle: open == 0) }
    }
}

extension Channel {
    /// Closes the connection without what its layers would still say: a TLS peer that says nothing would stay for seconds.
    fileprivate func closeAtOnce() {
        eventLoop.execute {
            guard let seat = try? self.pipeline.syncOperations.context(handlerType: ConnectionSeat.self) else {
                return self.close(promise: nil)
            }
            seat.close(promise: nil)
        }
    }
}

/// Connections that are counted, and closed when they cannot be served: nobody else closes those.
struct CountedChannel<Base: ServerChildChannel>: ServerChildChannel {
    let base: Base
    let count: ConnectionCount

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        do {
            try count.admit(channel)
        } catch {
            return refuse(channel, because: error)
        }
        return base.setup(channel: channel, logger: logger).flatMapError { refuse(channel, because: $0) }
    }

    func handle(value: Base.Value, logger: Logger) async {
        await base.handle(value: value, logger: logger)
    }

    private func refuse(_ channel: any Channel, because error: any Error) -> EventLoopFuture<Base.Value> {
        channel.close(promise: nil)
        return channel.closeFuture.flatMapThrowing { throw error }
    }
}

/// There are as many connections as there may be, of all or of a network.
struct TooManyConnections: Error {}
