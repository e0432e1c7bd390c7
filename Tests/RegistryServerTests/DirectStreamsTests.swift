import NIOCore
import NIOHTTP2
import RegistryCore
import Testing

@testable import RegistryServer

/// The streams of a connection that are answered on it, without socket and pipeline: calls are names.
@Suite(.timeLimit(.minutes(5))) struct DirectStreamsTests {
    /// A table of streams whose deeds are told in words.
    private final class Streams {
        var value = DirectStreams<String>()

        func begin(_ id: HTTP2StreamID, _ call: String, room: BodyReservation? = nil, isWhole: Bool = false) -> String?
        {
            value.begin(id, call, room: room, isWhole: isWhole).map(Self.text)
        }

        func receive(_ id: HTTP2StreamID, _ text: String?, isLast: Bool = false) -> String {
            switch value.receive(id, text.map { ByteBuffer(string: $0) }, isLast: isLast) {
            case .elsewhere: "elsewhere"
            case .incomplete: "incomplete"
            case .whole(let request): Self.text(request)
            case .superfluous: "superfluous"
            }
        }

        func answered(_ id: HTTP2StreamID) -> Bool { value.answered(id) }
        func closed(_ id: HTTP2StreamID) -> Bool { value.closed(id) }
        func flushed() -> [HTTP2StreamID] { value.flushed() }
        func readCompleted() -> [HTTP2StreamID] { value.readCompleted() }
        func removeAll() -> Int { value.removeAll() }

        private static func text(_ request: DirectStreams<String>.Request) -> String {
            "\(request.call)(\(String(buffer: request.body)))"
        }
    }

    private let streams = Streams()

    @Test("A request without a body is whole at its header") func aRequestWithoutABody() {
        #expect(streams.begin(1, "get", isWhole: true) == "get()")
        #expect(streams.value.isOpen(1) && !streams.value.isReading(1))
        #expect(streams.readCompleted() == [])
    }

    @Test("Bodies that come in parts, mixed with one another's, are put together each for its stream")
    func bodiesInParts() {
        #expect(streams.begin(1, "one") == nil)
        #expect(streams.begin(3, "two") == nil)
        #expect(streams.receive(3, "a") == "incomplete")
        #expect(streams.receive(1, "x") == "incomplete")
        #expect(streams.receive(3, "b", isLast: true) == "two(ab)")
        #expect(!streams.value.isReading(3) && streams.value.isReading(1))
        // Trailers end a request as well.
        #expect(streams.receive(1, nil, isLast: true) == "one(x)")
    }

    @Test("The room of a body is given back with its request, or when its stream is closed before it is whole")
    func roomOfBodies() throws {
        let budget = BodyBudget(10)
        _ = streams.begin(1, "one", room: try budget.reserve(10, for: nil))
        _ = streams.receive(1, "x")
        #expect(throws: (any Error).self) { try budget.reserve(1, for: nil) }
        #expect(streams.receive(1, nil, isLast: true) == "one(x)")
        _ = streams.begin(3, "two", room: try budget.reserve(10, for: nil))
        #expect(throws: (any Error).self) { try budget.reserve(1, for: nil) }
        #expect(streams.closed(3))
        _ = try budget.reserve(10, for: nil)
    }

    @Test("Streams that are not answered here are nobody's") func unknownStreams() {
        #expect(streams.receive(5, "a") == "elsewhere")
        #expect(!streams.value.isOpen(5))
        #expect(!streams.answered(5))
        #expect(!streams.closed(5))
    }

    @Test("What comes behind a request's end changes nothing") func superfluousParts() {
        _ = streams.begin(1, "get", isWhole: true)
        #expect(streams.receive(1, "more") == "superfluous")
        #expect(streams.answered(1))
        #expect(streams.receive(1, "more", isLast: true) == "superfluous")
        #expect(streams.value.isOpen(1))
    }

    @Test("An answer is not written to a caller who has left") func answers() {
        _ = streams.begin(1, "get", isWhole: true)
        #expect(streams.closed(1))
        #expect(!streams.answered(1))
        _ = streams.begin(3, "get", isWhole: true)
        #expect(streams.answered(3))
        #expect(streams.value.isOpen(3), "its reader may be slow")
        #expect(streams.closed(3))
        #expect(!streams.closed(3))
    }

    @Test("Only bodies that did not come within their header's read are waited for") func deadlines() {
        _ = streams.begin(1, "one")
        _ = streams.receive(1, "x", isLast: true)
        _ = streams.begin(3, "two")
        _ = streams.begin(5, "three", isWhole: true)
        #expect(streams.readCompleted() == [3])
        #expect(streams.readCompleted() == [], "each is waited for once")
    }

    @Test("Only readers who did not take their answers at the flush are waited for") func slowReaders() {
        for id: HTTP2StreamID in [1, 3] {
            _ = streams.begin(id, "get", isWhole: true)
            #expect(streams.answered(id))
        }
        #expect(streams.closed(1))
        #expect(streams.flushed() == [3])
        #expect(streams.flushed() == [], "each is waited for once")
    }

    @Test("A connection's end tells how many streams were open") func theEnd() {
        _ = streams.begin(1, "one")
        _ = streams.begin(3, "two", isWhole: true)
        #expect(streams.removeAll() == 2)
        #expect(streams.removeAll() == 0)
        #expect(!streams.value.isOpen(1))
    }
}
