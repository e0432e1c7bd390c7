import RegistryCore
import TestSupport

extension JSONValue {
    /// The members of an object; none of another value.
    var members: JSONObject {
        guard case .object(let object) = self else { return [:] }
        return object
    }

    /// The value at a JSON Pointer without escapes.
    func value(at pointer: String) -> JSONValue? {
        pointer.split(separator: "/").reduce(JSONValue?.some(self)) { value, step in
            guard case .array(let elements)? = value else { return value?[String(step)] }
            return Int(step).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
        }
    }
}
