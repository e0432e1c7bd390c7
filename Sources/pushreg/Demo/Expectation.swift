import RegistryCore

/// What an answer should be: a sentence for the reader, and the check of it.
struct Expectation: Sendable {
    let sentence: String
    /// What differs, or nil when nothing does.
    let difference: @Sendable (DemoAnswer) -> String?

    /// An answer of this status, whose body has at least these members.
    static func answer(_ status: Int, _ members: JSONObject, _ sentence: String) -> Expectation {
        Expectation(sentence: sentence) { answer in
            guard Int(answer.status.code) == status else { return "the status is \(answer.status.code), not \(status)" }
            return members.compactMap { key, value in
                answer.body?[key] == value
                    ? nil : "\(key) is \(answer.body?[key]?.description ?? "missing"), not \(value)"
            }.first
        }
    }

    /// A resolved alias that names exactly these tokens, in any order.
    static func tokens(_ tokens: [String], _ sentence: String) -> Expectation {
        Expectation(sentence: sentence) { answer in
            guard answer.status == .ok else { return "the status is \(answer.status.code), not 200" }
            guard case .array(let activities) = answer.body?["activities"] else { return "there are no activities" }
            let found = activities.map { $0["token"]?.text ?? "" }
            guard found.sorted() != tokens.sorted() else { return nil }
            return "the tokens are [\(list(found))], not [\(list(tokens))]"
        }
    }

    private static func list(_ tokens: [String]) -> String {
        tokens.map(PrettyJSON.shortened).joined(separator: ", ")
    }
}

extension JSONValue {
    /// The text of a string.
    var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }
}
