import Foundation
import Testing

@testable import RegistryCore

@Suite struct JSONReaderTests {
    private enum Colour: String, CaseIterable { case red, green }

    private func faults(_ value: JSONValue, _ read: (inout JSONReader) -> Void) -> [String] {
        var json = JSONReader(value)
        read(&json)
        return json.faults.map { "\($0.pointer) \($0.detail)" }
    }

    @Test func `Every type is read, required or optional`() {
        let value: JSONValue = [
            "s": "x", "b": true, "i": 7, "t": "1970-01-01T00:00:01Z", "d": "PT8H", "o": ["a": 1], "c": "red",
            "a": ["x", "y"],
        ]
        func read<T: Equatable>(_ key: String, _ expected: T, _ read: (JSONValue) throws(JSONFaultReason) -> T) {
            var json = JSONReader(value)
            #expect(json.required(key, read) == expected)
            #expect(json.optional(key, read) == expected)
            #expect(throws: Never.self) { try json.check() }
        }
        read("s", "x", String.read)
        read("b", true, Bool.read)
        read("i", 7, Int.read)
        read("t", Date(timeIntervalSince1970: 1), Date.read)
        read("d", .seconds(28_800), Duration.read)
        read("o", ["a": 1], JSONObject.read)
        read("a", ["x", "y"], [JSONValue].read)
        read("c", .red, Colour.read)
        var json = JSONReader(value)
        #expect(json.oneOrMore("a", each: String.read) == ["x", "y"])
    }

    @Test(arguments: [[:], ["k": .null]] as [JSONValue])
    func `Null and absent are nil where optional, and a fault where required`(value: JSONValue) {
        let optional = faults(value) { json in
            #expect(json.optional("k", String.read) == nil)
            #expect(json.optionalNested("k") { $0.required("x", String.read) } == nil)
        }
        #expect(optional.isEmpty)
        let required = faults(value) { json in
            #expect(json.required("k", String.read) == nil)
            #expect(json.elements("k", maximumCount: 2) == nil)
            #expect(json.oneOrMore("k", each: String.read) == nil)
        }
        #expect(required == Array(repeating: "/k is required", count: 3))
    }

    @Test func `All faults are reported at once`() {
        let found = faults([
            "s": 1, "b": "x", "i": 1.5, "t": "now", "d": "P1M", "o": [], "a": [:], "c": "blue",
        ]) { json in
            _ = json.required("s", String.read)
            _ = json.optional("b", Bool.read)
            _ = json.required("i", Int.read)
            _ = json.required("t", Date.read)
            _ = json.required("d", Duration.read)
            _ = json.required("o", JSONObject.read)
            _ = json.required("a", [JSONValue].read)
            _ = json.optional("c", Colour.read)
            _ = json.required("missing", String.read)
        }
        #expect(
            found == [
                "/s must be a string", "/b must be true or false", "/i must be an integer",
                "/t must be an RFC 3339 time such as 2026-03-01T12:00:00.000Z",
                "/d must be an ISO 8601 duration such as PT8H or P7D, without months and years", "/o must be an object",
                "/a must be an array", "/c must be one of red, green", "/missing is required",
            ]
        )
    }

    static let integers: [(value: JSONValue, integer: Int?)] = [
        (5, 5), (.number(5), 5), (.number(1e3), 1000), (.integer(.max), .max), (.number(5.5), nil),
        (.number(1e19), nil), ("5", nil), (true, nil), (.null, nil), ([5], nil),
    ]

    @Test(arguments: integers) func `An integer may be written as a number`(value: JSONValue, integer: Int?) {
        #expect((try? Int.read(value)) == integer)
    }

    @Test func `Integers keep to their range`() {
        let found = faults(["a": 0, "b": 1, "c": 1000, "d": 1001]) { json in
            for key in json.object.keys { _ = json.required(key, Int.within(1...1000)) }
        }
        #expect(found == ["/a must be an integer from 1 to 1000", "/d must be an integer from 1 to 1000"])
    }

    @Test func `An error thrown by an initialiser is a fault of the member`() {
        func even(_ text: String) throws(JSONFaultReason) -> String {
            guard text.utf8.count.isMultiple(of: 2) else { throw JSONFaultReason("must have an even length") }
            return text
        }
        let found = faults(["a": "xx", "b": "x", "c": 1, "d": "xxx"]) { json in
            #expect(json.string("a", even) == "xx")
            #expect(json.string("b", even) == nil)
            #expect(json.optionalString("c", even) == nil)
            #expect(json.optionalString("d", even) == nil)
            #expect(json.optionalString("e", even) == nil)
        }
        #expect(found == ["/b must have an even length", "/c must be a string", "/d must have an even length"])
    }

    @Test func `A fault in one element does not stop the reading of others`() {
        let value: JSONValue = ["list": ["a", 1, "b", .null]]
        let found = faults(value) { json in #expect(json.oneOrMore("list", each: String.read) == ["a", "b"]) }
        #expect(found == ["/list/1 must be a string", "/list/3 must be a string"])
    }

    @Test func `An array that is too long is one fault, and is not read`() {
        let found = faults(["list": [1, 2, 3], "fits": ["x", "y"]]) { json in
            #expect(json.oneOrMore("list", maximumCount: 2, each: String.read) == nil)
            #expect(json.elements("list", maximumCount: 2) == nil)
            #expect(json.oneOrMore("fits", maximumCount: 2, each: String.read) == ["x", "y"])
        }
        #expect(found == Array(repeating: "/list must hold at most 2 elements", count: 2))
    }

    @Test func `A single value is read as an array of one element`() {
        let found = faults(["a": "x", "b": ["x", "y"], "c": 1, "d": ["x", 2], "e": []]) { json in
            let read = json.object.keys.map { json.oneOrMore($0, each: String.read) }
            #expect(read == [["x"], ["x", "y"], [], ["x"], []])
        }
        #expect(found == ["/c must be a string", "/d/1 must be a string"])
    }

    @Test func `Faults in nested objects have the full pointer`() {
        let found = faults(["a": ["b/c": ["d~e": 1]], "i": 1]) { json in
            _ = json.optionalNested("a") { json in
                json.optionalNested("b/c") { json in json.required("d~e", String.read) }
            }
            _ = json.optionalNested("i") { json in json.required("never asked", String.read) }
            _ = json.optionalNested("a") { json in
                json.fault("x", "is wrong")
                json.fault(nil, "is odd")
                return 1
            }
        }
        #expect(found == ["/a/b~1c/d~0e must be a string", "/i must be an object", "/a/x is wrong", "/a is odd"])
    }

    @Test(arguments: [.null, 1, "x", [], true] as [JSONValue])
    func `A body that is not an object is one fault`(value: JSONValue) throws {
        var json = JSONReader(value, at: .body.member("items").element(3))
        #expect(json.required("a", String.read) == nil)
        #expect(json.optional("b", String.read) == nil)
        #expect(json.optionalNested("c") { $0.required("d", String.read) } == nil)
        let expected = [JSONFault(pointer: "/items/3", detail: "must be an object")]
        #expect(json.faults == expected)
        #expect(throws: Problem(faults: expected)) { try json.check() }
    }

    @Test func `The number of faults is limited`() {
        let found = faults(["list": .array(Array(repeating: 1, count: 5000))]) { json in
            _ = json.oneOrMore("list", each: String.read)
            _ = json.required("more", String.read)
        }
        #expect(found.count == JSONReader.maximumFaults)
        #expect(found.last == "/list/\(JSONReader.maximumFaults - 1) must be a string")
    }
}

@Suite struct FullStateReadingTests {
    /// The service keeps a response in memory until its caller has read it.
    @Test func `The response to a body full of faults has a bounded size`() throws {
        let values = [String](repeating: "1", count: 90).joined(separator: ",")
        let item = #"{"activityId": "a", "aliases": {"k": [\#(values)]}}"#
        let items = [String](repeating: item, count: 1000).joined(separator: ",")
        var json = JSONReader(
            try JSONParser.parse(Array(#"{"observedAt": "2026-03-01T12:00:00Z", "activities": [\#(items)]}"#.utf8))
        )
        let body = try #require(FullStateBody.read(&json))
        let results = body.readable.items.map {
            Result<RegistrationOutcome, Problem>.failure($0.problem ?? Problem(faults: []))
        }
        let faults = body.results(FullStateResults(results: results, ended: [])).map { result in
            if case .failure(let problem) = result.result { problem.errors.count } else { 0 }
        }
        #expect(faults.first == JSONReader.maximumFaults && faults.allSatisfy { $0 >= 1 })
        #expect(faults.reduce(0, +) <= 1000 + results.count)
    }

    @Test func `A missing result of the store leaves the other results at their positions`() throws {
        let text = """
            {"observedAt": "2026-03-01T12:00:00Z",
            "activities": [{"activityId": "a-1"}, {"activityId": 5}, {"activityId": "a-2"}]}
            """
        var json = JSONReader(try JSONParser.parse(Array(text.utf8)))
        let body = try #require(FullStateBody.read(&json))
        let (first, second) = (try ActivityID("a-1"), try ActivityID("a-2"))
        let results = body.results(FullStateResults(results: [.success(.registered)], ended: []))
        #expect(results.map(\.activityID) == [first, nil, second])
        #expect(results.first?.result == .success(.registered))
        #expect(results.last?.result == .failure(.lostResult))
    }
}
