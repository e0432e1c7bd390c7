import Logging
import Synchronization

package final class RecordedLog: Sendable {
    private let recorded = Mutex<[String]>([])
    private let uses = Mutex(0)
    package init() {}

    /// The number of entries and of changed metadata of loggers.
    package var changes: Int { uses.withLock(\.self) }

    /// For each entry, the message, the logger's metadata and the entry's metadata.
    package var lines: [String] { recorded.withLock(\.self) }
    package var text: String { lines.joined(separator: "\n") }

    package var logger: Logger {
        var logger = Logger(label: "test") { _ in Recorder(log: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct Recorder: LogHandler {
        let log: RecordedLog
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]
        var metadataProvider: Logger.MetadataProvider?

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set {
                log.uses.withLock { $0 += 1 }
                metadata[key] = newValue
            }
        }

        func log(event: LogEvent) {
            log.uses.withLock { $0 += 1 }
            log.recorded.withLock { $0.append("\(event.message) \(metadata) \(event.metadata ?? [:])") }
        }
    }
}
