import HTTPTypes
import NIOCore
import NIOHTTPTypes
import RegistryCore
import Testing

@testable import RegistryServer

@Suite struct RequestStateTests {
    private struct Recorded {
        var state: RequestState
        private(set) var actions: [String] = []

        init(isStream: Bool = false) { state = RequestState(mostUnread: 10, isStream: isStream) }

        mutating func taken() -> [String] {
            defer { actions = [] }
            return actions
        }

        mutating func request(_ path: String, _ parts: String..., fields: HTTPFields = [:]) {
            head(path, fields)
            for part in parts { body(part) }
            end()
        }

        mutating func head(_ path: String, _ fields: HTTPFields = [:]) {
            var head = HTTPRequest.to(path)
            head.headerFields = fields
            perform(state.receive(.part(.head(head))))
        }

        mutating func body(_ text: String) { perform(state.receive(.part(.body(ByteBuffer(string: text))))) }
        mutating func end() { perform(state.receive(.part(.end(nil)))) }
        mutating func fault() { perform(state.receive(.fault(.malformedRequest))) }
        mutating func completeRead() { perform(state.readCompleted()) }

        mutating func respond(isWritable: Bool = true) {
            perform(state.responded(isWritable: isWritable))
            release()
        }

        mutating func release() { while let action = state.releaseNext() { perform(action) } }

        private mutating func perform(_ action: RequestState.Action) {
            switch action {
            case .nothing: break
            case .start:
                let request = state.takeRequest()
                actions.append("start \(request?.head.path ?? "") \(String(buffer: request?.body ?? ByteBuffer()))")
            case .addToBody(let bytes): actions.append("add \(String(buffer: bytes))")
            case .finishBody: actions.append("finish")
            case .refuse: actions.append("refuse")
            case .endConnection: actions.append("end connection")
            case .close: actions.append("close")
            }
        }
    }

    @Test func `A whole request starts with its body`() {
        var connection = Recorded()
        connection.request("/1", "ab", "cd")
        #expect(connection.taken() == ["start /1 abcd"])
        #expect(connection.state.isBusy)
        #expect(connection.state.mayRead)
    }

    @Test func `A request with a partial body starts without the rest`() {
        var connection = Recorded()
        connection.head("/1")
        connection.body("ab")
        #expect(connection.taken().isEmpty)
        connection.completeRead()
        connection.body("cd")
        connection.end()
        #expect(connection.taken() == ["start /1 ab", "add cd", "finish"])
    }

    @Test func `Requests behind a running one are held and start in order`() {
        var connection = Recorded()
        for path in ["/1", "/2", "/3"] { connection.request(path) }
        #expect(connection.taken() == ["start /1 "])
        #expect(!connection.state.mayRead)
        connection.respond()
        #expect(connection.taken() == ["start /2 "])
        connection.respond()
        #expect(connection.taken() == ["start /3 "])
        #expect(connection.state.mayRead)
        connection.respond()
        #expect(connection.taken().isEmpty && !connection.state.isBusy)
    }

    @Test func `Until a response is written, no request starts and nothing is read`() {
        var connection = Recorded()
        connection.request("/1")
        connection.request("/2")
        connection.respond(isWritable: false)
        #expect(connection.taken() == ["start /1 "])
        #expect(!connection.state.mayRead)
        connection.state.becameWritable()
        connection.release()
        #expect(connection.taken() == ["start /2 "])
    }

    @Test func `Nothing is read until the call takes the body`() {
        var connection = Recorded()
        connection.head("/1")
        connection.completeRead()
        connection.state.noteBody(isFull: true)
        #expect(!connection.state.mayRead)
        connection.state.noteBody(isFull: false)
        #expect(connection.state.mayRead)
    }

    @Test func `The rest of a body is dropped after an early response, up to a limit`() {
        var connection = Recorded()
        connection.head("/1")
        connection.completeRead()
        connection.respond()
        connection.body("0123456789")
        #expect(connection.taken() == ["start /1 "])
        connection.end()
        connection.request("/2")
        #expect(connection.taken() == ["start /2 "])
        connection.respond()
        connection.head("/3")
        connection.completeRead()
        connection.respond()
        connection.body("0123456789a")
        #expect(connection.taken() == ["start /3 ", "close"])
    }

    @Test func `The last request ends the connection, and later bytes are ignored`() {
        var connection = Recorded()
        connection.request("/1", fields: [.connection: "close"])
        connection.request("/2")
        #expect(connection.state.closes && !connection.state.mayRead)
        connection.respond()
        #expect(connection.taken() == ["start /1 ", "end connection"])
    }

    @Test func `A connection that ends after its response ends after the rest of its request`() {
        var connection = Recorded()
        connection.head("/1", [.connection: "close"])
        connection.completeRead()
        connection.respond()
        #expect(connection.taken() == ["start /1 "])
        connection.end()
        #expect(connection.taken() == ["end connection"])
    }

    @Test func `A fault waits for the response before it`() {
        var connection = Recorded()
        connection.request("/1")
        connection.fault()
        #expect(connection.taken() == ["start /1 "])
        connection.respond()
        #expect(connection.taken() == ["refuse"])
        connection.respond()
        #expect(connection.taken() == ["end connection"])
        #expect(connection.state.mayRead)
        _ = connection.state.receive(.inputClosed)
    }

    @Test func `A fault within a body gets a response, and the call's own response is dropped`() {
        var connection = Recorded()
        connection.head("/1")
        connection.completeRead()
        let number = connection.state.number
        #expect(connection.state.expects(number))
        connection.fault()
        #expect(connection.taken() == ["start /1 ", "refuse"])
        #expect(!connection.state.expects(number))
        #expect(connection.state.expects(connection.state.number))
    }

    @Test func `A fault during a stream ends the connection`() {
        var connection = Recorded()
        connection.head("/1")
        connection.completeRead()
        connection.state.beginStream()
        connection.fault()
        #expect(connection.taken() == ["start /1 ", "close"])
    }

    @Test func `A caller that sends nothing more gets the response, and then the connection ends`() {
        var connection = Recorded()
        connection.request("/1")
        _ = connection.state.receive(.inputClosed)
        connection.respond()
        #expect(connection.taken() == ["start /1 ", "close"])
    }

    @Test func `A stream closes at its own end, not with its response`() {
        var stream = Recorded(isStream: true)
        stream.head("/1")
        stream.completeRead()
        stream.fault()
        stream.respond()
        stream.body("rest")
        stream.end()
        #expect(stream.taken() == ["start /1 ", "refuse"])
        #expect(!stream.state.closes)
    }
}

extension HTTPRequest {
    static func to(_ path: String) -> HTTPRequest {
        HTTPRequest(method: .put, scheme: "http", authority: "localhost", path: path)
    }
}
