import HummingbirdCore
import Logging
import NIOCore
import Synchronization

/// A connection that waits to be handled, or is closed.
///
/// A cancelled server, for example without its admin port, drops accepted connections that are not handled yet. NIO
/// traps on them, and the program would end by a signal instead of its error.
final class AcceptedConnection<Base: ServerChildChannel>: ServerChildChannelValue {
    private let value: Base.Value
    private let base: Base
    private let logger: Logger
    private let isTaken = Atomic(false)

    init(_ value: Base.Value, of base: Base, _ logger: Logger) {
        self.value = value
        self.base = base
        self.logger = logger
    }

    var channel: any Channel { value.channel }

    func take() -> Base.Value {
        isTaken.store(true, ordering: .relaxed)
        return value
    }

    deinit {
        guard !isTaken.load(ordering: .relaxed) else { return }
        value.channel.close(promise: nil)
        // Handling is the only way to end it.
        Task { [base, value, logger] in await base.handle(value: value, logger: logger) }
    }
}
