import HummingbirdCore
import Logging
import NIOCore

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
