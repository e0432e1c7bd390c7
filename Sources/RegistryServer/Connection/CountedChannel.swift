import HummingbirdCore
import Logging
import NIOCore

/// Counts connections, and closes those that are not served.
struct CountedChannel<Base: ServerChildChannel>: ServerChildChannel {
    let base: Base
    let count: ConnectionCount

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<AcceptedConnection<Base>> {
        do {
            try count.admit(channel)
        } catch {
            return refuse(channel, because: error)
        }
        return base.setup(channel: channel, logger: logger)
            .map { AcceptedConnection($0, of: base, logger) }
            .flatMapError { refuse(channel, because: $0) }
    }

    func handle(value: AcceptedConnection<Base>, logger: Logger) async {
        await base.handle(value: value.take(), logger: logger)
    }

    private func refuse<Value>(_ channel: any Channel, because error: any Error) -> EventLoopFuture<Value> {
        channel.close(promise: nil)
        return channel.closeFuture.flatMapThrowing { throw error }
    }
}
