import HTTPTypes
import NIOCore
import Synchronization

/// A request as the connection hands it on, with its body still to be read.
struct Request: Sendable {
    let head: HTTPRequest
    let body: RequestBody
    let connection: Connection
    let start: NIODeadline

    var method: HTTPRequest.Method { head.method }
    var fields: HTTPFields { head.headerFields }
    var peer: IPAddress? { connection.peer }

    /// The facts of a connection that its requests share.
    final class Connection: Sendable {
        /// The address at its other end.
        let peer: IPAddress?
        /// Runs calls on the thread of the connection's event loop.
        let executor: any TaskExecutor
        /// The key of the last request: most connections send the same one each time, and its digest takes some time.
        let lastKey = Mutex<RememberedKey?>(nil)

        init(_ channel: any Channel) {
            peer = IPAddress(channel.remoteAddress)
            executor = EventLoopExecutor(channel.eventLoop)
        }
    }
}
