extension Alias {
    package static func read(_ json: inout JSONReader) -> Alias? {
        let kind = json.string("kind", Alias.kind)
        let value = json.string("value", Alias.value)
        guard let kind, let value else { return nil }
        return Alias(checkedKind: kind, value: value)
    }

    package static func kind(_ text: String) throws(JSONFaultReason) -> UTF8Text {
        try checkKind(text)
        return UTF8Text(text)
    }

    package static func value(_ text: String) throws(JSONFaultReason) -> UTF8Text {
        try checkValue(text)
        return UTF8Text(text)
    }
}

extension AliasSet {
    package static func read(_ json: inout JSONReader) -> AliasSet? {
        let kinds = json.object.filter { !$0.value.isNull }.map(\.key)
        let aliases = kinds.flatMap { read(kind: $0, &json) }
        do throws(JSONFaultReason) {
            return try AliasSet(aliases)
        } catch {
            json.fault(nil, error.detail)
            return nil
        }
    }

    private static func read(kind: String, _ json: inout JSONReader) -> [Alias] {
        do throws(JSONFaultReason) {
            try Alias.checkKind(kind)
        } catch {
            json.fault(kind, error.detail)
            return []
        }
        let checkedKind = UTF8Text(kind)
        return json.oneOrMore(kind) { value throws(JSONFaultReason) in
            try Alias(checkedKind: checkedKind, value: Alias.value(String.read(value)))
        } ?? []
    }
}
