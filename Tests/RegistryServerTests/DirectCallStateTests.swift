import HTTPTypes
import NIOCore
import NIOHTTPTypes
import Testing

@testable import RegistryServer

/// The order of a connection's requests and answers, without socket and pipeline: calls are paths, events are names.
@Suite(.timeLimit(.minutes(5))) struct DirectCallStateTests {
    // MARK: Order

    @Test("Requests behind a call that is answered are held, and let go in order")
    func requestsAreHeldAndLetGoInOrder() {
        var connection = RecordedConnection()
        for path in ["/hot/1", "/hot/2", "/usual/3", "/hot/4", "/hot/5"] { connection.request(path) }
        #expect(connection.done() == ["start /hot/1 ()"])
        connection.answer()
        #expect(connection.done() == ["write", "start /hot/2 ()"])
        connection.answer()
        #expect(
            connection.done() == [
                "write", "pass /usual/3", "pass end", "pass /hot/4", "pass end", "pass /hot/5", "pass end", "complete",
            ]
        )
    }

    @Test("A call is taken only while no request before it is open downstream")
    func requestsDownstreamAreFirst() {
        var connection = RecordedConnection()
        connection.request("/usual/1")
        connection.request("/hot/2")
        #expect(connection.done() == ["pass /usual/1", "pass end", "pass /hot/2", "pass end"])
        connection.endResponse()
        connection.request("/hot/3")
        #expect(connection.done() == ["pass /hot/3", "pass end"])
        #expect(connection.asked == ["/usual/1"], "a call that cannot be taken is not looked for")
        connection.endResponse()
        connection.endResponse()
        connection.request("/hot/4")
        #expect(connection.done() == ["start /hot/4 ()"])
    }

    @Test("An answer to input that was no request opens the way for nothing")
    func anAnswerToNoRequestDoesNotCount() {
        var connection = RecordedConnection()
        connection.endResponse()
        connection.request("/usual/1")
        connection.request("/hot/2")
        #expect(connection.done() == ["pass /usual/1", "pass end", "pass /hot/2", "pass end"])
    }

    @Test("Events and errors are held while a call is answered, each in its place")
    func eventsKeepTheirPlace() {
        var connection = RecordedConnection()
        connection.receive(.other("event 1"))
        connection.receive(.part(.head(.to("/hot/1"))))
        connection.receive(.other("event 2"))
        connection.receive(.part(.end(nil)))
        connection.receive(.other("event 3"))
        connection.request("/usual/2")
        connection.receive(.other("error 4"))
        #expect(connection.done() == ["pass event 1", "pass event 2", "start /hot/1 ()"])
        connection.answer()
        #expect(
            connection.done() == [
                "write", "pass event 3", "pass /usual/2", "pass end", "pass error 4", "complete",
            ]
        )
    }

    @Test("The end of a read follows the last event that was held, and nothing else")
    func theEndOfAReadFollowsTheLastEvent() {
        var connection = RecordedConnection()
        connection.request("/hot/1")
        connection.answer()
        #expect(connection.done() == ["start /hot/1 ()", "write"])
        for path in ["/hot/2", "/hot/3"] { connection.request(path) }
        connection.answer()
        #expect(connection.done() == ["start /hot/2 ()", "write", "start /hot/3 ()", "complete"])
        connection.answer()
        #expect(connection.done() == ["write"])
    }

    @Test("Held calls that are answered at once follow one another, and none lets go within another")
    func callsThatAreAnsweredAtOnceDoNotNest() {
        var connection = RecordedConnection()
        for path in ["/hot/1", "/now/2", "/now/3", "/hot/4", "/now/5"] { connection.request(path) }
        _ = connection.done()
        connection.answer()
        #expect(
            connection.done() == [
                "write", "start /now/2 ()", "write", "start /now/3 ()", "write", "start /hot/4 ()",
            ]
        )
        connection.answer()
        #expect(connection.done() == ["write", "start /now/5 ()", "write", "complete"])
        #expect(connection.deepest == 1)
    }

    // MARK: Reads

    @Test("A read passes while nothing waits behind the call that is answered")
    func aReadPassesWhileNothingWaits() {
        var connection = RecordedConnection()
        connection.read()
        connection.receive(.part(.head(.to("/hot/1"))))
        connection.read()
        connection.receive(.part(.end(nil)))
        connection.read()
        #expect(connection.done() == ["read", "read", "start /hot/1 ()", "read"])
    }

    @Test("A read is held while something waits behind the call that is answered, and given once it has gone")
    func aReadWaitsForWhatIsHeld() {
        var connection = RecordedConnection()
        for path in ["/hot/1", "/hot/2"] { connection.request(path) }
        connection.read()
        connection.read()
        connection.answer()
        #expect(connection.done() == ["start /hot/1 ()", "write", "start /hot/2 ()", "complete"])
        connection.answer()
        #expect(connection.done() == ["write", "read"])
        connection.request("/hot/3")
        connection.answer()
        #expect(connection.done() == ["start /hot/3 ()", "write"], "it is given once")
    }

    @Test("A held read is given for a call of whose body a part has been held")
    func aHeldReadIsGivenForTheRestOfABody() {
        var connection = RecordedConnection()
        connection.request("/hot/1")
        connection.receive(.part(.head(.to("/hot/2"))))
        connection.receive(.part(.body(ByteBuffer(string: "half"))))
        connection.read()
        connection.answer()
        #expect(connection.done() == ["start /hot/1 ()", "write", "complete", "reserve /hot/2", "read"])
    }

    // MARK: A reader who stops

    @Test("After an answer that does not fit, nothing is let go or read until the connection takes more")
    func aReaderWhoStopsIsWaitedFor() {
        var connection = RecordedConnection()
        for path in ["/hot/1", "/hot/2"] { connection.request(path) }
        connection.setWritable(false)
        connection.answer()
        connection.request("/usual/3")
        connection.setWritable(false)
        connection.read()
        #expect(connection.done() == ["start /hot/1 ()", "write"])
        connection.setWritable(true)
        #expect(connection.done() == ["start /hot/2 ()"])
        connection.setWritable(true)
        #expect(connection.done() == [], "the second is not answered yet")
        connection.answer()
        #expect(connection.done() == ["write", "pass /usual/3", "pass end", "complete", "read"])
    }

    @Test("While an answer does not fit, a read is held although nothing waits")
    func noReadWhileDraining() {
        var connection = RecordedConnection()
        connection.request("/hot/1")
        connection.setWritable(false)
        connection.answer()
        connection.read()
        #expect(connection.done() == ["start /hot/1 ()", "write"])
        connection.setWritable(true)
        #expect(connection.done() == ["read"])
    }

    // MARK: Bodies

    @Test("A body in several parts is one, and only that is given room, once")
    func aBodyInSeveralParts() {
        var connection = RecordedConnection()
        connection.request("/hot/1", body: "whole", " body")
        connection.completeRead()
        connection.answer()
        #expect(connection.done() == ["start /hot/1 (whole body)", "write"])
        connection.receive(.part(.head(.to("/hot/2"))))
        connection.receive(.part(.body(ByteBuffer(string: "in "))))
        connection.completeRead()
        connection.receive(.part(.body(ByteBuffer(string: "several "))))
        connection.completeRead()
        #expect(connection.done() == ["reserve /hot/2"])
        connection.receive(.part(.body(ByteBuffer(string: "parts"))))
        #expect(connection.budget.used == 10)
        connection.receive(.part(.end(nil)))
        #expect(connection.done() == ["start /hot/2 (in several parts) with room"])
        #expect(connection.budget.used == 0, "the call alone keeps it")
    }

    @Test("Where there is no room for a body, the request is handed on whole")
    func aRequestWithoutRoomIsHandedOn() {
        var connection = RecordedConnection(room: 9)
        connection.receive(.part(.head(.to("/hot/1"))))
        connection.receive(.part(.body(ByteBuffer(string: "one"))))
        connection.completeRead()
        connection.receive(.part(.body(ByteBuffer(string: "two"))))
        connection.receive(.part(.end(nil)))
        connection.request("/hot/2")
        #expect(
            connection.done() == [
                "reserve /hot/1", "hand on /hot/1 (one)", "pass two", "pass end", "pass /hot/2", "pass end",
            ]
        )
        connection.endResponse()
        connection.endResponse()
        connection.request("/hot/3")
        #expect(connection.done() == ["start /hot/3 ()"])
    }

    // MARK: Removal

    @Test("A removed handler does nothing", arguments: RecordedConnection.Moment.allCases)
    func aRemovedHandlerDoesNothing(_ moment: RecordedConnection.Moment) {
        var connection = RecordedConnection()
        connection.advance(to: moment)
        _ = connection.done()
        connection.remove()
        connection.finish()
        connection.setWritable(true)
        connection.answer()
        connection.request("/hot/8")
        connection.request("/usual/9")
        connection.receive(.other("event"))
        connection.completeRead()
        connection.read()
        #expect(connection.done() == [])
        #expect(connection.budget.used == 0)
    }

    @Test("A handler whose removal a held event brings lets go nothing more")
    func removalEndsTheRelease() {
        var connection = RecordedConnection()
        connection.request("/hot/1")
        connection.receive(.other("fatal"))
        connection.request("/hot/2")
        connection.read()
        connection.answer()
        #expect(connection.done() == ["start /hot/1 ()", "write", "pass fatal"])
    }
}
