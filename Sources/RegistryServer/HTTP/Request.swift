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

/// The connection broke or sent invalid HTTP, so no response is possible.
struct ConnectionLost: Error {}

/// One request and its response, as the answering task uses them. Usable from any thread.
struct Exchange: Sendable {
    let eventLoop: any EventLoop
    private let handler: NIOLoopBound<RequestHandler>
    private let number: Int

    private static let pieceSize = 32 * 1024

    init(_ handler: RequestHandler, number: Int, on eventLoop: any EventLoop) {
        self.handler = NIOLoopBound(handler, eventLoop: eventLoop)
        self.number = number
        self.eventLoop = eventLoop
    }

    private func run(_ body: @escaping @Sendable (RequestHandler) -> Void) {
        if eventLoop.inEventLoop { return body(handler.value) }
        eventLoop.execute { body(handler.value) }
    }

    /// Sends a response. Returns after a stream is written.
    func send(_ response: Response) async {
        let heavyCall = response.heavyCall
        switch response.body {
        case .bytes(let bytes) where heavyCall == nil || bytes.count <= Self.pieceSize:
            // A caller that has read everything may call again at once.
            heavyCall?.finish()
            run { [number] in $0.write(response, for: number) }
        case .bytes(let bytes):
            await send(response, contentLength: bytes.count) {
                try await write(ByteBuffer(bytes: bytes), beforeLastPiece: { heavyCall?.finish() })
            }
        case .stream(let stream):
            await send(response, contentLength: nil) {
                try await stream.write(to: self)
                heavyCall?.finish()
            }
        }
    }

    private func send(_ response: Response, contentLength: Int?, _ writeBody: () async throws -> Void) async {
        let takesBody = await withCheckedContinuation { continuation in
            run { [number] in
                continuation.resume(returning: $0.beginResponse(response, contentLength: contentLength, for: number))
            }
        }
        guard takesBody else { return }
        do {
            try await writeBody()
            run { [number] in $0.end(number) }
        } catch {
            close()
        }
    }

    /// Writes in pieces, because a reader must accept one piece before its deadline. Waits for the reader.
    func write(_ bytes: ByteBuffer, beforeLastPiece: () -> Void = {}) async throws {
        var rest = bytes
        while rest.readableBytes > 0, let piece = rest.readSlice(length: min(Self.pieceSize, rest.readableBytes)) {
            if rest.readableBytes == 0 { beforeLastPiece() }
            try await withCheckedThrowingContinuation { continuation in
                run { [number] in $0.write(piece, for: number, continuation) }
            }
        }
    }

    func close() { run { [number] in $0.close(number) } }

    /// Permits the caller to send the announced body (`100 Continue`).
    func proceed() { run { [number] in $0.proceed(number) } }

    /// Call this after the buffered body has room again.
    func readMore() { run { [number] in $0.readMore(number) } }

    /// From now on, the reader of the body enforces a deadline.
    func endBodyDeadline() { run { [number] in $0.endBodyDeadline(number) } }
}
