import Hummingbird
import Logging
import NIOCore

struct ConnectionContext: InitializableFromSource, Sendable {
    let channel: any Channel
    let logger: Logger

    init(source: ApplicationRequestContextSource) {
        channel = source.channel
        logger = source.logger
    }
}
