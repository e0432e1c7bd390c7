import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL

/// An HTTP/2 client over TLS that sends any frames, including invalid ones.
struct FrameConnection: Sendable {
    typealias Frames = NIOAsyncChannel<HTTP2Frame, HTTP2Frame>

    enum End: Equatable {
        case answer(status: String, body: String)
        case reset(HTTP2ErrorCode)
        case connection
    }

    private let outbound: NIOAsyncChannelOutboundWriter<HTTP2Frame>
    private let inbound: AsyncStream<HTTP2Frame>

    static func open(
        port: Int,
        settings: HTTP2Settings = nioDefaultSettings,
        _ test: @Sendable (FrameConnection) async throws -> Void
    ) async throws {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .none
        configuration.applicationProtocols = ["h2"]
        let context = try NIOSSLContext(configuration: configuration)
        let bootstrap = ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        let channel = try await bootstrap.connect(host: "127.0.0.1", port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: nil))
                // Allows bodies of other lengths than declared.
                try pipeline.addHandler(
                    NIOHTTP2Handler(mode: .client, initialSettings: settings, contentLengthValidation: .disabled)
                )
                return try Frames(wrappingChannelSynchronously: channel)
            }
        }
        try await channel.executeThenClose { inbound, outbound in
            // The channel's own stream allows only one reader.
            let (frames, continuation) = AsyncStream.makeStream(of: HTTP2Frame.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    defer { continuation.finish() }
                    for try await frame in inbound { continuation.yield(frame) }
                }
                try await test(FrameConnection(outbound: outbound, inbound: frames))
                group.cancelAll()
            }
        }
    }

    func send(_ id: HTTP2StreamID, _ method: String, _ path: String, length: Int? = nil, isLast: Bool) async throws {
        var fields: HPACKHeaders = [
            ":method": method, ":scheme": "https", ":authority": "localhost", ":path": path,
            "accept": "application/json",
        ]
        if let length {
            fields.add(name: "content-type", value: "application/json")
            fields.add(name: "content-length", value: String(length))
        }
        try await send(id, .headers(.init(headers: fields, endStream: isLast)))
    }

    func send(_ id: HTTP2StreamID, _ text: String, isLast: Bool) async throws {
        try await send(id, .data(.init(data: .byteBuffer(ByteBuffer(string: text)), endStream: isLast)))
    }

    func send(_ id: HTTP2StreamID, _ payload: HTTP2Frame.FramePayload) async throws {
        try await outbound.write(HTTP2Frame(streamID: id, payload: payload))
    }

    /// - Returns: how each stream ended. A reset after the start of a response counts as a reset.
    func ends(_ count: Int) async throws -> [HTTP2StreamID: End] {
        var ends: [HTTP2StreamID: End] = [:]
        var answers: [HTTP2StreamID: (status: String, body: String)] = [:]
        for await frame in inbound {
            let id = frame.streamID
            switch frame.payload {
            case .headers(let part): answers[id] = (part.headers.first(name: ":status") ?? "", "")
            case .data(let part):
                if case .byteBuffer(let bytes) = part.data { answers[id]?.body += String(buffer: bytes) }
                if part.endStream, let answer = answers[id] {
                    ends[id] = .answer(status: answer.status, body: answer.body)
                }
            case .rstStream(let code): if ends[id] == nil { ends[id] = .reset(code) }
            default: break
            }
            if ends.count == count { return ends }
        }
        ends[0] = .connection
        return ends
    }
}
