import HummingbirdCore
import Logging
import NIOCore
import Synchronization

/// A connection that waits to be handled, or is closed.
///
/// A server that is cancelled, as when the admin port is not to be had, drops what it has accepted and not begun to handle. NIO
/// traps on connections that go like that, and the program would end by a signal in place of its sentence.
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

    /// Hands it over to the one who handles it.
    func take() -> Base.Value {
        isTaken.store(true, ordering: .relaxed)
        return value
    }

    deinit {
        guard !isTaken.load(ordering: .relaxed) else { return }
        value.channel.close(promise: nil)
        // To be handled is the only way for it to end.
        Task { [base, value, logger] in await base.handle(value: value, logger: logger) }
    }
}
