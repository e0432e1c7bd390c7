import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite struct FactTests {
    private static let names = Mirror(reflecting: ActivityFacts()).children.compactMap(\.label)
    /// Responses have the reason instead, because their `pushType` is that of APNs.
    private static let inNoResponse: Set = ["pushType"]

    private static let document = APIDocument.embedded.json

    private static func property(_ name: String, of schema: String) -> JSONValue? {
        document["components"]?["schemas"]?[schema]?["properties"]?[name]
    }

    private static func facts(in json: JSONObject, wereChecked: Bool) throws -> ActivityFacts {
        var reader = JSONReader(.object(json))
        let facts = ActivityFacts(from: &reader, wereChecked: wereChecked)
        try reader.check()
        return facts
    }

    private static func json(_ facts: ActivityFacts) throws -> JSONValue {
        var writer = JSONWriter(reservingCapacity: 128)
        writer.object { facts.writeMembers(to: &$0) }
        return try JSONParser.parse(writer.bytes)
    }

    @Test func `The bodies and responses that contain a fact describe it and whether it may be null`() {
        for name in Self.names {
            for schema in ["Registration", "AliasRegistration", "FullStateItem"] {
                let property = Self.property(name, of: schema)
                let types = (property?["oneOf"]?.elements ?? []).compactMap { $0["type"]?.string }
                let isNullable = types.contains("null") || property?["type"]?.elements.contains("null") == true
                #expect(isNullable, "\(schema) must describe \(name) and accept null")
            }
            for schema in ["ActivityRecord", "ResolvedActivity"] where !Self.inNoResponse.contains(name) {
                #expect(Self.property(name, of: schema) != nil, "\(schema) must describe \(name)")
            }
        }
    }

    @Test func `Facts survive a round trip through requests and responses`() throws {
        let members = try Self.names.map { name in
            let property = try #require(Self.property(name, of: "Registration"), "\(name)")
            return (name, APIDocument.embedded.exampleValue(property))
        }
        let told = JSONObject(members)
        #expect(told.count == 3)
        for wereChecked in [false, true] {
            let facts = try Self.facts(in: told, wereChecked: wereChecked)
            let answer = try Self.json(facts)
            for (name, value) in members { #expect(answer[name] == value, "ActivityFacts must read and write \(name)") }
        }
        let nothing = JSONObject(Self.names.map { ($0, .null) })
        #expect(try Self.facts(in: nothing, wereChecked: false) == ActivityFacts())
    }
}
