import NIOCore

/// One request of a connection and its response, for the task that answers it. It may be used from any thread.
struct Exchange: Sendable {
    let eventLoop: any EventLoop
    private let handler: NIOLoopBound<RequestHandler>
    private let number: Int

    /// The bytes of a write, before the reader's progress is known.
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

    /// Sends a response; returns once a stream is written.
    func send(_ response: Response) async {
        let heavyCall = response.heavyCall
        switch response.body {
        case .bytes(let bytes) where heavyCall == nil || bytes.count <= Self.pieceSize:
            // A caller that has read everything may call again at once.
            heavyCall?.finish()
            run { [number] in $0.write(response, for: number) }
        case .bytes(let bytes):
            await send(response, contentLength: bytes.count) {
                var rest = ByteBuffer(bytes: bytes)
                while rest.readableBytes > Self.pieceSize, let piece = rest.readSlice(length: Self.pieceSize) {
                    try await write(piece)
                }
                heavyCall?.finish()
                try await write(rest)
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

    /// Writes a part of the body, and waits until the reader has room for more.
    ///
    /// - Throws: ``ConnectionLost``.
    func write(_ bytes: ByteBuffer) async throws {
        guard bytes.readableBytes > 0 else { return }
        try await withCheckedThrowingContinuation { continuation in
            run { [number] in $0.write(bytes, for: number, continuation) }
        }
    }

    /// Closes the connection, or the stream of HTTP/2, if the exchange is not over.
    func close() { run { [number] in $0.close(number) } }

    /// Tells the caller to send the body that it announced.
    func proceed() { run { [number] in $0.proceed(number) } }

    /// There is room for more of the body.
    func readMore() { run { [number] in $0.readMore(number) } }

    /// From now on the reader of the body keeps its deadline.
    func endBodyDeadline() { run { [number] in $0.endBodyDeadline(number) } }
}
