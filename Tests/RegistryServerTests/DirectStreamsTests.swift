import NIOCore
import NIOHTTP2
import RegistryCore
import Testing

@testable import RegistryServer

/// The streams of a connection that are answered on it, without socket and pipeline: calls are names.
@Suite(.timeLimit(.minutes(5))) struct DirectStreamsTests {
    private var streams = DirectStreams<String>()

    /// A receipt in words.
    private mutating func receive(_ id: HTTP2StreamID, _ text: String?, isLast: Bool = false) -> String {
        switch streams.receive(id, text.map { ByteBuffer(string: $0) }, isLast: isLast) {
        case .elsewhere: "elsewhere"
        case .incomplete: "incomplete"
        case .whole(let request): "\(request.call)(\(String(buffer: request.body)))"
        case .superfluous: "superfluous"
        }
    }

    @Test("A request without a body is whole at its header") mutating func aRequestWithoutABody() {
        let request = streams.begin(1, "get", room: nil, isWhole: true)
        #expect(request?.call == "get")
        #expect(request?.body.readableBytes == 0)
        #expect(streams.isOpen(1) && !streams.isReading(1))
        #expect(streams.readCompleted() == [])
    }

    @Test("Bodies that come in parts, mixed with one another's, are put together each for its stream")
    mutating func bodiesInParts() {
        #expect(streams.begin(1, "one", room: nil, isWhole: false) == nil)
        #expect(streams.begin(3, "two", room: nil, isWhole: false) == nil)
        #expect(receive(3, "a") == "incomplete")
        #expect(receive(1, "x") == "incomplete")
        #expect(receive(3, "b", isLast: true) == "two(ab)")
        #expect(!streams.isReading(3) && streams.isReading(1))
        // Trailers end a request as well.
        #expect(receive(1, nil, isLast: true) == "one(x)")
    }

    @Test("The room of a body is held until its request is let go") mutating func roomIsHeld() throws {
        let budget = BodyBudget(10)
        _ = streams.begin(1, "one", room: try budget.reserve(10, for: nil), isWhole: false)
        #expect(throws: (any Error).self) { try budget.reserve(1, for: nil) }
        guard case .whole(let request) = streams.receive(1, nil, isLast: true) else {
            Issue.record("the request is not whole")
            return
        }
        withExtendedLifetime(request.room) {
            #expect(throws: (any Error).self) { try budget.reserve(1, for: nil) }
        }
        // What is answered holds nothing, and neither does what was closed before it was whole.
        _ = consume request
        _ = streams.begin(3, "two", room: try budget.reserve(10, for: nil), isWhole: false)
        #expect(streams.closed(3))
        _ = try budget.reserve(10, for: nil)
    }

    @Test("Streams that are not answered here are nobody's") mutating func unknownStreams() {
        #expect(receive(5, "a") == "elsewhere")
        #expect(!streams.isOpen(5) && !streams.answered(5) && !streams.closed(5))
    }

    @Test("What comes behind a request's end changes nothing") mutating func superfluousParts() {
        _ = streams.begin(1, "get", room: nil, isWhole: true)
        #expect(receive(1, "more") == "superfluous")
        #expect(streams.answered(1))
        #expect(receive(1, "more", isLast: true) == "superfluous")
        #expect(streams.isOpen(1))
    }

    @Test("An answer is written once at most, and not to a caller who has left") mutating func answers() {
        _ = streams.begin(1, "get", room: nil, isWhole: true)
        #expect(streams.closed(1))
        #expect(!streams.answered(1))
        _ = streams.begin(3, "get", room: nil, isWhole: true)
        #expect(streams.answered(3))
        #expect(streams.isOpen(3), "its reader may be slow")
        #expect(streams.closed(3))
        #expect(!streams.closed(3))
    }

    @Test("Only bodies that did not come within their header's read are waited for") mutating func deadlines() {
        _ = streams.begin(1, "one", room: nil, isWhole: false)
        _ = receive(1, "x", isLast: true)
        _ = streams.begin(3, "two", room: nil, isWhole: false)
        _ = streams.begin(5, "three", room: nil, isWhole: true)
        #expect(streams.readCompleted() == [3])
        #expect(streams.readCompleted() == [], "each is waited for once")
    }

    @Test("A connection's end tells how many streams were open") mutating func theEnd() {
        _ = streams.begin(1, "one", room: nil, isWhole: false)
        _ = streams.begin(3, "two", room: nil, isWhole: true)
        #expect(streams.removeAll() == 2)
        #expect(streams.removeAll() == 0)
        #expect(!streams.isOpen(1))
    }
}
