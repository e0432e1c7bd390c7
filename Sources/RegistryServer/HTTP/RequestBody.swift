import NIOCore
import Synchronization

/// A request's body as it arrives. Allows one reader at a time.
final class RequestBody: Sendable {
    private struct State {
        var bytes = ByteBuffer()
        var isWhole = false
        var isLost = false
        var reader: CheckedContinuation<Void, Never>?
        /// The caller waits for `100 Continue`.
        var isExpected = false
    }

    /// Bytes buffered before the connection stops reading.
    private static let capacity = 64 * 1024

    static let none = RequestBody(ByteBuffer())

    /// Nil for a body that arrived with its head.
    let exchange: Exchange?
    private let state: Mutex<State>

    init(_ bytes: ByteBuffer) {
        exchange = nil
        state = Mutex(State(bytes: bytes, isWhole: true))
    }

    /// `isExpected`: the caller waits for `100 Continue`.
    init(_ bytes: ByteBuffer, of exchange: Exchange, isExpected: Bool) {
        self.exchange = exchange
        state = Mutex(State(bytes: bytes, isExpected: isExpected && bytes.readableBytes == 0))
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
