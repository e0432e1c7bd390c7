import Foundation
import NIOCore
import NIOHTTP1
import NIOHTTP2

/// One connection, on its event loop. Counts its requests until GOAWAY.
final class APNsConnection {
    private let channel: any Channel
    private var requests = 0
    private var open = 0
    private var isLeaving = false
    private var last = HTTP2StreamID.rootStream

    init(_ channel: any Channel) { self.channel = channel }

    func begin(_ stream: HTTP2StreamID?) {
        requests += 1
        open += 1
        last = max(last, stream ?? last)
    }

    /// Notes the end of a request. After GOAWAY, the end of the last request closes the connection.
    func end() {
        open -= 1
        guard isLeaving, open == 0 else { return }
        let bound = NIOLoopBound(channel, eventLoop: channel.eventLoop)
        // The last response is still on its way.
        channel.eventLoop.scheduleTask(in: .milliseconds(20)) { bound.value.close(promise: nil) }
    }

    /// Sends GOAWAY when the connection has served `limit` requests. Later streams are refused.
    func leave(after limit: Int?) {
        guard let limit, requests >= limit, !isLeaving else { return }
        isLeaving = true
        let payload = HTTP2Frame.FramePayload.goAway(lastStreamID: last, errorCode: .noError, opaqueData: nil)
        channel.writeAndFlush(HTTP2Frame(streamID: .rootStream, payload: payload), promise: nil)
    }

    /// Resets the connection, with all requests in flight.
    func reset() { channel.close(promise: nil) }
}

final class PushStream: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let standIn: APNsStandIn
    private let connection: APNsConnection
    private let stream: any Channel
    private var head: HTTPRequestHead?
    private var body = Data()
    private var isOver = false

    init(_ standIn: APNsStandIn, _ connection: APNsConnection, _ stream: any Channel) {
        self.standIn = standIn
        self.connection = connection
        self.stream = stream
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            connection.begin(try? stream.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID))
        case .body(let part): body.append(contentsOf: part.readableBytesView)
        case .end:
            guard let head else { return }
            let fields = Dictionary(head.headers.map { ($0.name.lowercased(), $0.value) }) { $1 }
            let request = PushRequest(method: head.method.rawValue, path: head.uri, fields: fields, body: body)
            answer(request, context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) { finish() }

    private func answer(_ request: PushRequest, _ context: ChannelHandlerContext) {
        // GOAWAY precedes the response, so a sender does not send its next request on this connection.
        connection.leave(after: standIn.goAwayAfter)
        let (answer, delay, isReset) = standIn.receive(request)
        if isReset { return connection.reset() }
        let id = request.fields["apns-id"] ?? UUID().uuidString
        let later = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        guard delay > .zero else { return write(answer, id, context) }
        context.eventLoop.scheduleTask(in: TimeAmount(delay)) {
            let (stream, context) = later.value
            stream.write(answer, id, context)
        }
    }

    private func write(_ answer: PushResponse, _ id: String, _ context: ChannelHandlerContext) {
        guard !isOver else { return }
        let fields: HTTPHeaders = ["apns-id": id, "content-length": String(answer.body.utf8.count)]
        let head = HTTPResponseHead(version: .http2, status: .init(statusCode: answer.status), headers: fields)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if !answer.body.isEmpty {
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: answer.body)))), promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    private func finish() {
        guard !isOver else { return }
        isOver = true
        if head != nil { connection.end() }
    }
}
