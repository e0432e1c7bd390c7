import HTTPTypes
import NIOCore
import RegistryCore
import Synchronization

/// A class because it is large and passed on often.
final class Request: Sendable {
    let head: HTTPRequest
    let body: RequestBody
    let connection: Connection
    let start: NIODeadline

    init(head: HTTPRequest, body: RequestBody, connection: Connection, start: NIODeadline) {
        (self.head, self.body, self.connection, self.start) = (head, body, connection, start)
    }

    var method: HTTPRequest.Method { head.method }
    var fields: HTTPFields { head.headerFields }
    var peer: IPAddress? { connection.peer }

    /// The state that a connection's requests share.
    final class Connection: Sendable {
        let peer: IPAddress?
        /// Runs tasks on the connection's event loop.
        let executor: any TaskExecutor
        /// The key of the last request. Most connections repeat it, and computing its digest takes time.
        let lastKey = Mutex<RememberedKey?>(nil)

        init(_ channel: any Channel) {
            peer = IPAddress(channel.remoteAddress)
            executor = EventLoopExecutor(channel.eventLoop)
        }
    }
}

final class EventLoopExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// The connection broke, or sent invalid HTTP, before the request or its response was complete. No response is
/// possible.
struct ConnectionLost: Error {}
