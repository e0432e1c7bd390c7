import Foundation
import HTTPTypes
import RegistryCore

/// Collects faults in the path, query and header fields.
///
/// A pointer names the parameter (`/activityId`). The detail names its location, because pointers refer to the body.
struct ParameterReader {
    let call: Call
    private(set) var faults: [JSONFault] = []

    mutating func path<Value>(_ name: String, _ make: (String) throws(JSONFaultReason) -> Value) -> Value? {
        read(name, from: "path", [call.parameter(name)], make)
    }

    mutating func query<Value>(_ name: String, _ make: (String) throws(JSONFaultReason) -> Value) -> Value? {
        read(name, from: "query", call.query[name], make)
    }

    /// Reads the text like a JSON string.
    mutating func query<Value>(_ name: String, as read: (JSONValue) throws(JSONFaultReason) -> Value) -> Value? {
        query(name) { text throws(JSONFaultReason) in try read(.string(text)) }
    }

    mutating func query(_ name: String, within range: ClosedRange<Int>) -> Int? {
        query(name) { text throws(JSONFaultReason) in
            try Int.within(range)(Int64(text).map(JSONValue.integer) ?? .string(text))
        }
    }

    mutating func time(_ name: String) -> Date? { query(name, as: Date.read) }

    mutating func limit() -> Int { query("limit", within: ResolveBody.limits) ?? ResolveBody.defaultLimit }

    mutating func requiredQuery<Value>(_ name: String, _ make: (String) throws(JSONFaultReason) -> Value) -> Value? {
        if call.query[name].isEmpty { record(name, "query", "is required") }
        return query(name, make)
    }

    mutating func field<Value>(_ name: HTTPField.Name, _ make: (String) throws(JSONFaultReason) -> Value) -> Value? {
        let values = call.fields[values: name]
        // NIO replaces invalid UTF-8, so different values would become equal.
        guard values.first?.unicodeScalars.contains("\u{FFFD}") != true else {
            record(name.rawName, "header", "must be UTF-8")
            return nil
        }
        return read(name.rawName, from: "header", values, make)
    }

    mutating func add(_ others: [JSONFault]) { faults += others }

    /// Reads the body, and adds its faults after those that `read` adds.
    mutating func body<Value>(_ read: (inout JSONReader, inout ParameterReader) -> Value) -> Value {
        let (value, bodyFaults) = call.readBody { json in (read(&json, &self), json.faults) }
        add(bodyFaults)
        return value
    }

    /// A faster overload for one value.
    func checked<Value>(_ value: Value?) throws(Problem) -> Value {
        guard faults.isEmpty else { throw Problem(faults: faults) }
        return try unwrapped(value)
    }

    func checked<each Value>(_ values: repeat (each Value)?) throws(Problem) -> (repeat each Value) {
        guard faults.isEmpty else { throw Problem(faults: faults) }
        return (repeat try unwrapped(each values))
    }

    private func unwrapped<Value>(_ value: Value?) throws(Problem) -> Value {
        guard let value else { throw Problem(faults: faults) }
        return value
    }

    private mutating func read<Value>(
        _ name: String,
        from place: String,
        _ values: [String],
        _ make: (String) throws(JSONFaultReason) -> Value
    ) -> Value? {
        guard values.count < 2 else {
            record(name, place, "must be given only once")
            return nil
        }
        guard let text = values.first else { return nil }
        do throws(JSONFaultReason) {
            return try make(text)
        } catch {
            record(name, place, error.detail)
            return nil
        }
    }

    private mutating func record(_ name: String, _ place: String, _ detail: String) {
        faults.append(JSONFault(pointer: "/\(name)", detail: "(in the \(place)) \(detail)"))
    }
}
