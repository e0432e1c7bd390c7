import Synchronization

/// The connections that were opened between two moments at which the pool gave up all that it had.
///
/// Those that are lent at such a moment learn of it here: an answer that comes later is not to be trusted, for another server
/// may have gone on meanwhile. A frozen primary that thaws answers old questions with old rows.
final class PoolGeneration: Sendable {
    /// How many were given up before.
    let number: Int
    private let isGivenUp = Atomic(false)
    private let answerCount = Atomic(0)

    init(_ number: Int) { self.number = number }

    /// Whether the pool has given it up.
    var isOver: Bool { isGivenUp.load(ordering: .acquiring) }

    /// How many questions the server has answered, on all its connections.
    var answers: Int { answerCount.load(ordering: .relaxed) }

    /// The server has answered.
    func noteAnswer() { answerCount.add(1, ordering: .relaxed) }

    /// Gives it up.
    func end() { isGivenUp.store(true, ordering: .releasing) }
}
