import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// Connections whose hot calls are answered on the thread of their event loop.
///
/// A hot call changes threads only for Postgres; with Swift's own pool it would do so twice more, and each change may
/// wake a sleeping core. All other calls use that pool; see ``RegistryResponder/isBrief(_:_:)``.
struct EventLoopChannel<Base: ServerChildChannel>: ServerChildChannel {
    let base: Base
    /// Answers hot calls in the connection's own pipeline; nil without one for requests.
    var direct: RegistryResponder?

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        guard let direct else { return base.setup(channel: channel, logger: logger) }
        return base.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let encoder = try pipeline.context(handlerType: HTTPResponseEncoder.self)
            let handler = DirectCallHandler(direct, logger: logger, past: encoder)
            // After the handler that tracks idle connections.
            let states = try pipeline.handler(type: HTTPConnectionStateHandler.self)
            try pipeline.addHandler(handler, position: .after(states))
            return value
        }
    }

    func handle(value: Base.Value, logger: Logger) async {
        await withTaskExecutorPreference(EventLoopExecutor(value.channel.eventLoop)) {
            await base.handle(value: value, logger: logger)
        }
    }
}
