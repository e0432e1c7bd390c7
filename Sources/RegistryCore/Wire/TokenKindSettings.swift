/// The kinds of tokens that an app's settings add to the built-in ones: `{"NAME": {"topicSuffix", "pushType", "per"}}`.
extension TokenKind {
    package static let mostSettings = 16
    /// Counts and the audit use this word for the activities themselves.
    private static let reserved = all.map(\.name) + ["activity"]

    /// Faults stay in the reader. If it has any, discard the kinds.
    static func readSettings(_ json: inout JSONReader) -> [TokenKind] {
        if json.object.count > mostSettings { json.fault(nil, "must have at most \(mostSettings) kinds") }
        return json.object.keys.sorted().compactMap { name in
            if let fault = fault(of: name) { json.fault(name, fault) }
            return json.optionalNested(name) { read(&$0, name) }
        }
    }

    private static func fault(of name: String) -> String? {
        if reserved.contains(name) { return "is a built-in kind" }
        return name.wholeMatch(of: /[a-z][a-z0-9-]{0,31}/) != nil
            ? nil : "must be 1 to 32 lower-case letters, digits or '-', and begin with a letter"
    }

    private static func read(_ json: inout JSONReader, _ name: String) -> TokenKind? {
        let suffix = json.string("topicSuffix") { text throws(JSONFaultReason) in
            guard text.wholeMatch(of: /(\.[a-z0-9.-]{0,63})?/) != nil else {
                throw JSONFaultReason("must be empty, or '.' and at most 63 lower-case letters, digits, '.' or '-'")
            }
            return text
        }
        let pushType = json.string("pushType") { text throws(JSONFaultReason) in
            guard text.wholeMatch(of: /[a-z0-9-]{1,32}/) != nil else {
                throw JSONFaultReason("must be 1 to 32 lower-case letters, digits or '-'")
            }
            return text
        }
        let holder = json.optionalString("per") { text throws(JSONFaultReason) in
            guard let holder = Holder(rawValue: text), holder != .activity else {
                throw JSONFaultReason("must be one of installation, attributes-type")
            }
            return holder
        }
        guard let suffix, let pushType else { return nil }
        return TokenKind(name: name, per: holder ?? .installation, topicSuffix: suffix, pushType: pushType)
    }

    /// For kinds with a token per attributes type, several types can have the same value, as for start tokens.
    private init(name: String, per holder: Holder, topicSuffix: String, pushType: String) {
        let hasOneOwner = holder == .installation
        self.init(name: name, holder: holder, hasOneOwner: hasOneOwner, topicSuffix: topicSuffix, pushType: pushType)
    }

    /// Stored settings were checked when they were received.
    package static func settings(stored value: JSONValue) -> [TokenKind] {
        var json = JSONReader(value)
        return readSettings(&json)
    }
}

extension JSONWriter {
    package mutating func value(_ kinds: [TokenKind]) {
        object { json in
            for kind in kinds {
                json.object(kind.name) { json in
                    json.member("topicSuffix", kind.topicSuffix)
                    json.member("pushType", kind.pushType)
                    json.member("per", kind.holder.rawValue)
                }
            }
        }
    }
}
