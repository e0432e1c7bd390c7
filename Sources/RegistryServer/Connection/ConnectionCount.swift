import HummingbirdCore
import Logging
import NIOCore
import Synchronization

/// How many connections each address has open.
final class ConnectionCount: Sendable {
    private let most: Int
    private let exempt: [AddressRange]
    private let open = Mutex<[IPAddress: Int]>([:])

    /// - Parameter exempt: proxies, behind which many callers share an address.
    init(_ limits: ServerConfiguration.Limits, exempt: [AddressRange]) {
        most = limits.addressConnections
        self.exempt = exempt
    }

    /// Counts one more, unless there are as many as there may be.
    ///
    /// - Returns: whether there may be one more.
    func add(_ address: IPAddress) -> Bool {
        open.withLock { open in
            guard open[address, default: 0] < most else { return false }
            open[address, default: 0] += 1
            return true
        }
    }

    func remove(_ address: IPAddress) {
        open.withLock { open in
            let rest = open[address, default: 1] - 1
            open[address] = rest == 0 ? nil : rest
        }
    }

    /// The address by which a connection is counted; nil when it is not.
    func countedAddress(of channel: any Channel) -> IPAddress? {
        guard let address = IPAddress(channel.remoteAddress), !address.isLoopback else { return nil }
        return exempt.contains { $0.contains(address) } ? nil : address
    }
}

/// Connections of which one address may have only so many.
struct CountedChannel<Base: ServerChildChannel>: ServerChildChannel {
    let base: Base
    let count: ConnectionCount

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        if let address = count.countedAddress(of: channel) {
            guard count.add(address) else { return channel.eventLoop.makeFailedFuture(TooManyConnections()) }
            channel.closeFuture.whenComplete { _ in count.remove(address) }
        }
        return base.setup(channel: channel, logger: logger)
    }

    func handle(value: Base.Value, logger: Logger) async {
        await base.handle(value: value, logger: logger)
    }
}

/// The address has as many connections open as it may; NIO closes the one that is too many.
struct TooManyConnections: Error {}
