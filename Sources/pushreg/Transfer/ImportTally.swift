import RegistryCore

/// The result of a line of an import.
enum LineOutcome: Sendable {
    case taken
    /// It says what no longer holds, or what another has: the rules decided.
    case refused(Problem)
    /// It is not what a line must be.
    case faulty(String)
    /// It is about something that the registry has no use for.
    case leftOut(LeftOut)
}

/// The results of the lines of an import, counted.
struct ImportTally: Sendable {
    private(set) var taken = 0
    private(set) var refused: [String: Int] = [:]
    private(set) var faulty = 0
    private(set) var leftOut: [LeftOut: Int] = [:]

    /// How many lines there were, but for those that were left out.
    var count: Int { taken + refusedCount + faulty }

    /// How many lines there were.
    var lineCount: Int { count + leftOut.values.reduce(0, +) }

    private var refusedCount: Int { refused.values.reduce(0, +) }

    /// Counts a line.
    ///
    /// - Returns: what there is to say of it, without a token; nil for what was taken.
    mutating func add(_ outcome: LineOutcome, ofLine number: Int) -> String? {
        switch outcome {
        case .taken:
            taken += 1
            return nil
        case .refused(let problem):
            refused[problem.code.rawValue, default: 0] += 1
            return "line \(number): \(problem.code.rawValue): \(problem.detail)"
        case .faulty(let reason):
            faulty += 1
            return "line \(number): \(reason)"
        case .leftOut(let reason):
            leftOut[reason, default: 0] += 1
            return nil
        }
    }

    var sentence: String { "\(taken) taken, \(refusedCount) refused by the rules, \(faulty) faulty.\(leftOutSentence)" }

    /// The same, as far as it can be said without a write.
    var drySentence: String { "\(taken) could be taken, \(faulty) faulty.\(leftOutSentence)" }

    private var leftOutSentence: String {
        let parts = LeftOut.allCases.compactMap { reason in leftOut[reason].map { "\($0) \(reason.words)" } }
        return parts.isEmpty ? "" : " Left out: \(parts.joined(separator: ", "))."
    }
}

extension ImportTally: JSONEncodable {
    /// Writes `{taken, refused: {code: count}, faulty, leftOut: {reason: count}}`.
    func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("taken", taken)
            json.object("refused") { json in
                for (code, count) in refused.sorted(by: { $0.key < $1.key }) { json.member(code, count) }
            }
            json.member("faulty", faulty)
            json.object("leftOut") { json in
                for reason in LeftOut.allCases { json.member(reason.rawValue, ifPresent: leftOut[reason]) }
            }
        }
    }
}
