import Hummingbird
import Logging
import NIOCore

/// The facts that a request knows about the connection that it came by.
struct ConnectionContext: InitializableFromSource, Sendable {
    let channel: any Channel
    let logger: Logger

    init(source: ApplicationRequestContextSource) {
        channel = source.channel
        logger = source.logger
    }
}
