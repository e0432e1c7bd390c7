import RegistryCore

enum LineOutcome: Sendable {
    case taken
    /// Well-formed, but rejected by a rule, for example because newer state exists.
    case refused(Problem)
    /// Malformed.
    case faulty(String)
}

struct ImportTally: Sendable {
    private(set) var taken = 0
    private(set) var refused: [String: Int] = [:]
    private(set) var faulty = 0
    private var kinds: [String: Int] = [:]

    /// Further lines of a kind are only counted.
    private static let mostOfKind = 10

    var count: Int { taken + refusedCount + faulty }

    private var refusedCount: Int { refused.values.reduce(0, +) }

    /// - Returns: The fault or refusal, without a token. Nil for a taken line, and after ten of a kind.
    mutating func add(_ outcome: LineOutcome, ofLine number: Int) -> String? {
        switch outcome {
        case .taken:
            taken += 1
            return nil
        case .refused(let problem):
            refused[problem.code.rawValue, default: 0] += 1
            return sentence("\(problem.code.rawValue): \(problem.detail)", ofLine: number)
        case .faulty(let reason):
            faulty += 1
            return sentence(reason, ofLine: number)
        }
    }

    private mutating func sentence(_ reason: String, ofLine number: Int) -> String? {
        let kind = String(reason.prefix { $0 != ":" })
        kinds[kind, default: 0] += 1
        return kinds[kind, default: 0] > Self.mostOfKind ? nil : "line \(number): \(reason)"
    }

    /// One sentence per kind with the number of lines that `add` did not report.
    var unnamed: [String] {
        kinds.filter { $0.value > Self.mostOfKind }.sorted { $0.key < $1.key }.map { kind, count in
            "\(count - Self.mostOfKind) more \(count - Self.mostOfKind == 1 ? "line" : "lines"): \(kind)"
        }
    }

    var sentence: String { "\(taken) taken, \(refusedCount) refused by the rules, \(faulty) faulty." }

    var drySentence: String { "\(taken) could be taken, \(faulty) faulty." }
}

extension ImportTally: JSONObjectEncodable {
    func writeMembers(to json: inout JSONWriter) {
        json.member("taken", taken)
        json.object("refused") { json in
            for (code, count) in refused.sorted(by: { $0.key < $1.key }) { json.member(code, count) }
        }
        json.member("faulty", faulty)
    }
}
