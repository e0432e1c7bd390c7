import RegistryCore

/// The result of a line of an import.
enum LineOutcome: Sendable {
    case taken
    /// It says what no longer holds, or what another has: the rules decided.
    case refused(Problem)
    /// It is not what a line must be.
    case faulty(String)
}

/// The results of the lines of an import, counted.
struct ImportTally: Sendable {
    private(set) var taken = 0
    private(set) var refused: [String: Int] = [:]
    private(set) var faulty = 0
    /// How many lines had each kind of fault or refusal.
    private var kinds: [String: Int] = [:]

    /// Of more lines with one kind of fault only the number is told.
    private static let mostOfKind = 10

    /// How many lines there were.
    var count: Int { taken + refusedCount + faulty }

    private var refusedCount: Int { refused.values.reduce(0, +) }

    /// Counts a line.
    ///
    /// - Returns: its fault or refusal, without a token; nil for a line that was taken, and after ten of one kind.
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

    /// The numbers of lines that were not named, a sentence for each kind.
    var unnamed: [String] {
        kinds.filter { $0.value > Self.mostOfKind }.sorted { $0.key < $1.key }.map { kind, count in
            "\(count - Self.mostOfKind) more \(count - Self.mostOfKind == 1 ? "line" : "lines"): \(kind)"
        }
    }

    var sentence: String { "\(taken) taken, \(refusedCount) refused by the rules, \(faulty) faulty." }

    /// The same, as far as it can be said without a write.
    var drySentence: String { "\(taken) could be taken, \(faulty) faulty." }
}

extension ImportTally: JSONEncodable {
    /// Writes `{taken, refused: {code: count}, faulty}`.
    func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("taken", taken)
            json.object("refused") { json in
                for (code, count) in refused.sorted(by: { $0.key < $1.key }) { json.member(code, count) }
            }
            json.member("faulty", faulty)
        }
    }
}
