import HTTPTypes
import NIOCore
import NIOHTTPTypes

@testable import RegistryServer

/// A handler that does no more with its state's actions than to note them.
struct RecordedConnection {
    enum Event {
        case part(HTTPRequestPart)
        case other(String)

        var name: String {
            switch self {
            case .part(.head(let head)): head.path ?? ""
            case .part(.body(let bytes)): String(buffer: bytes)
            case .part(.end): "end"
            case .other(let name): name
            }
        }
    }

    enum Moment: CaseIterable { case idle, reading, readingWithRoom, answering, draining, downstream }

    let budget: BodyBudget
    /// The paths that were asked about, whether they make a call.
    private(set) var asked: [String] = []
    /// How many releases were under way within one another.
    private(set) var deepest = 0
    private var state = DirectCallState<String, ByteBuffer, Event>()
    private var isWritable = true
    private var notes: [String] = []
    private var depth = 0

    /// - Parameter room: for bodies, each of which takes 10.
    init(room: Int = 10) { budget = BodyBudget(room) }

    /// The deeds since this was last asked.
    mutating func done() -> [String] {
        defer { notes = [] }
        return notes
    }

    mutating func request(_ path: String, body: String...) {
        receive(.part(.head(.to(path))))
        for part in body { receive(.part(.body(ByteBuffer(string: part)))) }
        receive(.part(.end(nil)))
    }

    mutating func receive(_ event: Event) {
        guard case .part(let part) = event else { return perform(state.receive(event)) }
        var asked: [String] = []
        let action = state.read(part, event) { head in
            asked.append(head.path ?? "")
            return head.path?.hasPrefix("/usual") == false ? head.path : nil
        }
        self.asked += asked
        perform(action)
    }

    mutating func completeRead() {
        var reserved: [String] = []
        let action = state.readCompleted { [budget] call in
            reserved.append("reserve \(call)")
            return try? budget.reserve(10, for: nil)
        }
        notes += reserved
        perform(action)
    }

    mutating func read() { perform(state.wantsRead()) }
    mutating func endResponse() { state.responseEnded() }

    mutating func setWritable(_ isWritable: Bool) {
        self.isWritable = isWritable
        perform(state.writabilityChanged(isWritable: isWritable))
    }

    mutating func answer() { perform(state.answered(ByteBuffer())) }
    mutating func finish() { perform(state.finished(isWritable: isWritable)) }
    mutating func remove() { state.removed() }

    /// Brings about the moment, with as much held as can be.
    mutating func advance(to moment: Moment) {
        switch moment {
        case .idle: break
        case .reading, .readingWithRoom:
            receive(.part(.head(.to("/hot/1"))))
            receive(.part(.body(ByteBuffer(string: "half"))))
            if moment == .readingWithRoom { completeRead() }
        case .answering, .draining:
            for path in ["/hot/1", "/usual/2"] { request(path) }
            read()
            guard moment == .draining else { return }
            setWritable(false)
            answer()
        case .downstream: request("/usual/1")
        }
    }

    private mutating func perform(_ action: DirectCallState<String, ByteBuffer, Event>.Action) {
        switch action {
        case .nothing: break
        case .pass(let event):
            notes.append("pass \(event.name)")
            if event.name == "fatal" { remove() }
        case .handOn: take("hand on")
        case .start: if take("start")?.hasPrefix("/now") == true { answer() }
        case .write:
            notes.append("write")
            finish()
        case .read: notes.append("read")
        case .release:
            depth += 1
            deepest = max(deepest, depth)
            while let action = state.next() { perform(action) }
            depth -= 1
        case .receive(let event): receive(event)
        case .completeRead:
            notes.append("complete")
            completeRead()
        }
    }

    /// - Returns: the call that was taken.
    @discardableResult private mutating func take(_ deed: String) -> String? {
        guard let request = state.takeRequest() else { return nil }
        let room = request.room == nil ? "" : " with room"
        notes.append("\(deed) \(request.call) (\(String(buffer: request.body)))\(room)")
        return request.call
    }
}

extension HTTPRequest {
    static func to(_ path: String) -> HTTPRequest {
        HTTPRequest(method: .put, scheme: "http", authority: "localhost", path: path)
    }
}
