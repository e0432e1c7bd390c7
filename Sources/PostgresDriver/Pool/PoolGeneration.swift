import Synchronization

/// The connections opened between two moments at which the pool gave up all connections.
///
/// A lent connection checks its generation after each answer, because a frozen primary that resumes returns old rows
/// although another server may have taken over.
final class PoolGeneration: Sendable {
    let number: Int
    private let isGivenUp = Atomic(false)
    private let answerCount = Atomic(0)

    init(_ number: Int) { self.number = number }
    var isOver: Bool { isGivenUp.load(ordering: .acquiring) }
    var answers: Int { answerCount.load(ordering: .relaxed) }
    func noteAnswer() { answerCount.add(1, ordering: .relaxed) }
    func end() { isGivenUp.store(true, ordering: .releasing) }
}
