import Foundation

/// The meaning of an answer: only one that the registry itself gave settles a report (C12).
///
/// A captive portal's 200, a proxy's 403 page or a redirect is no answer of ours, for it has no `Request-Id`, or neither our JSON
/// nor a problem with a code.
package enum Verdict: Sendable, Hashable {
    /// Taken. Items of a full state that were not are listed.
    case accepted([RefusedItem])
    /// Refused, with the reason; the status says of which kind.
    case refused(status: Int, Problem)
    /// The same bytes are to be sent again: 408, 429, 5xx of the registry, or of whoever says when.
    case repeatLater(after: Duration?)
    /// No answer, or not the registry's.
    case unanswered

    /// An item of a full state that was refused, while the others were not.
    package struct RefusedItem: Sendable, Hashable {
        package let activityID: UTF8Text
        package let problem: Problem
    }

    /// Judges an answer to a report.
    package init(_ answer: TransportAnswer) {
        let isOurs = !(answer["Request-Id"] ?? "").isEmpty
        let problem = isOurs ? try? JSONDecoder().decode(Problem.self, from: answer.body) : nil
        switch answer.status {
        case 408, 429, 500...599:
            let pause = Self.pause(answer["Retry-After"])
            // A proxy without a service behind it is silence.
            self = isOurs || pause != nil ? .repeatLater(after: pause) : .unanswered
        case 204 where isOurs: self = .accepted([])
        case 200...299 where isOurs: self = Self.accepted(answer.body).map(Verdict.accepted) ?? .unanswered
        case 400...499: self = problem.map { .refused(status: answer.status, $0) } ?? .unanswered
        default: self = .unanswered
        }
    }

    /// The refused items of a body that is ours; nil when it is not.
    private static func accepted(_ body: Data) -> [RefusedItem]? {
        guard let body = try? JSONDecoder().decode(Body.self, from: body), body.isOurs else { return nil }
        return (body.results ?? []).compactMap { result in
            guard let activityID = result.activityId, let problem = result.problem else { return nil }
            return RefusedItem(activityID: activityID, problem: problem)
        }
    }

    /// `Retry-After` in seconds; the registry never sends a date, and a proxy's date falls back to our own pause.
    private static func pause(_ text: String?) -> Duration? {
        text.flatMap { Int($0) }.flatMap { 0...86_400 ~= $0 ? .seconds($0) : nil }
    }
}

/// The members of the registry's answers, at least one of which each has.
private struct Body: Decodable {
    let outcome: String?
    let installation: String?
    let results: [Result]?

    var isOurs: Bool { outcome != nil || installation != nil || results != nil }

    struct Result: Decodable {
        let activityId: UTF8Text?
        let problem: Problem?
    }
}
