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

    static let pieceSize = 32 * 1024

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
        case .bytes(let bytes) where bytes.count <= Self.pieceSize:
            // A caller that has read everything may call again at once.
            heavyCall?.finish()
            run { [number] in $0.write(response, for: number) }
        case .bytes(let bytes):
            await send(response, contentLength: bytes.count) {
                for start in stride(from: 0, to: bytes.count, by: Self.pieceSize) {
                    let piece = bytes[start..<min(start + Self.pieceSize, bytes.count)]
                    if piece.endIndex == bytes.endIndex { heavyCall?.finish() }
                    try await write(ByteBuffer(bytes: piece))
                }
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
        } catch { close() }
    }

    /// Writes in pieces, because a reader must accept one piece before its deadline. Waits for the reader.
    func write(_ bytes: ByteBuffer) async throws {
        var rest = bytes
        while rest.readableBytes > 0, let piece = rest.readSlice(length: min(Self.pieceSize, rest.readableBytes)) {
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

/// A request's body as it arrives. Allows one reader at a time.
final class RequestBody: Sendable {
    private struct State {
        var bytes = ByteBuffer()
        var isWhole = false
        var isLost = false
        var reader: CheckedContinuation<Void, Never>?
        var isExpected = false
    }

    /// Bytes buffered before the connection stops reading.
    private static let capacity = 64 * 1024

    static let none = RequestBody(ByteBuffer())

    /// Nil for a body that arrived with its head.
    let exchange: Exchange?
    private let state: Mutex<State>

    /// - Parameter isExpected: Whether the caller waits for `100 Continue`.
    init(_ bytes: ByteBuffer, of exchange: Exchange? = nil, isExpected: Bool = false) {
        self.exchange = exchange
        let isAwaited = isExpected && bytes.readableBytes == 0
        state = Mutex(State(bytes: bytes, isWhole: exchange == nil, isExpected: isAwaited))
    }

    var wholeBytes: ByteBuffer? { exchange == nil ? state.withLock(\.bytes) : nil }

    /// - Returns: Whether there is room for more.
    func add(_ bytes: ByteBuffer) -> Bool {
        let (reader, hasRoom) = state.withLock { state in
            var bytes = bytes
            if state.bytes.readableBytes == 0 { state.bytes = bytes } else { state.bytes.writeBuffer(&bytes) }
            return (state.reader.take(), state.bytes.readableBytes < Self.capacity)
        }
        reader?.resume()
        return hasRoom
    }

    func finish(isLost: Bool = false) {
        let reader = state.withLock { state in
            if isLost { state.isLost = !state.isWhole } else { state.isWhole = true }
            return state.reader.take()
        }
        reader?.resume()
    }

    /// All buffered bytes, as soon as there are any. Nil at the end.
    func next() async throws -> ByteBuffer? {
        await withCheckedContinuation { continuation in
            let (isReady, isExpected) = state.withLock { state in
                let isReady = state.bytes.readableBytes > 0 || state.isWhole || state.isLost
                if !isReady { state.reader = continuation }
                defer { state.isExpected = false }
                return (isReady, state.isExpected && !isReady)
            }
            if isReady { continuation.resume() }
            if isExpected { exchange?.proceed() }
        }
        let bytes = try state.withLock { state in
            if state.isLost { throw ConnectionLost() }
            defer { state.bytes = ByteBuffer() }
            return state.bytes
        }
        if bytes.readableBytes >= Self.capacity { exchange?.readMore() }
        return bytes.readableBytes > 0 ? bytes : nil
    }
}

/// The lines of an NDJSON body that is answered while it arrives.
///
/// The deadline applies to each line, because such a body can take any time. Allows one reader at a time: the call
/// until the head is sent, and its response after that.
final class BodyLines: @unchecked Sendable {
    private let body: RequestBody
    private let deadline: TimeAmount
    private let reservation: BodyReservation?
    private var splitter = LineSplitter()
    /// Complete lines that arrived and were not returned yet.
    private var waiting: ArraySlice<BodyLine> = []

    /// For the part that arrived, its lines with their overhead, and an incomplete line.
    static let mostBytes = 5 * LineSplitter.maximumLine

    init(_ body: RequestBody, deadline: Duration, holding reservation: BodyReservation? = nil) {
        self.body = body
        self.deadline = TimeAmount(deadline)
        self.reservation = reservation
    }

    /// Replaces the connection's deadline with this type's.
    func beginReading() { body.exchange?.endBodyDeadline() }

    /// Up to `most` lines, as soon as one is complete. Nil at the end.
    ///
    /// - Throws: `ConnectionLost`, also if no line came in time.
    func next(upTo most: Int) async throws -> ArraySlice<BodyLine>? {
        if waiting.isEmpty { waiting = try await readLines() }
        defer { waiting = waiting.dropFirst(most) }
        return waiting.isEmpty ? nil : waiting.prefix(most)
    }

    private func readLines() async throws -> ArraySlice<BodyLine> {
        let timer = body.exchange.map { exchange in
            exchange.eventLoop.scheduleTask(in: deadline) { exchange.close() }
        }
        defer { timer?.cancel() }
        while let part = try await body.next() {
            if Task.isCancelled { throw ConnectionLost() }
            let lines = splitter.add(part)
            if !lines.isEmpty { return lines[...] }
        }
        return splitter.finish().map { [$0] } ?? []
    }
}

enum BodyLine: Sendable, Hashable {
    /// Without the newline.
    case text([UInt8])
    /// Longer than the limit. Its text was dropped.
    case tooLong
}

/// Splits a body into lines. Stores at most one incomplete line.
struct LineSplitter {
    /// In bytes, without the newline.
    static let maximumLine = 64 * 1024

    private var rest: [UInt8] = []
    private var isTooLong = false

    /// - Returns: The lines that this part completes, without blank ones.
    mutating func add(_ part: ByteBuffer) -> [BodyLine] {
        var lines: [BodyLine] = []
        var view = part.readableBytesView
        while let end = view.firstIndex(of: 0x0A) {
            storeBytes(view[..<end])
            if let line = finish() { lines.append(line) }
            view = view[view.index(after: end)...]
        }
        storeBytes(view)
        return lines
    }

    mutating func finish() -> BodyLine? {
        defer { (rest, isTooLong) = ([], false) }
        if isTooLong { return .tooLong }
        return rest.allSatisfy(ASCII.isBlank) ? nil : .text(rest)
    }

    private mutating func storeBytes(_ bytes: ByteBufferView) {
        guard !isTooLong else { return }
        if rest.count + bytes.count > Self.maximumLine {
            (rest, isTooLong) = ([], true)
        } else {
            rest += bytes
        }
    }
}
