import RegistryCore
import TestSupport

/// Generates almost valid bodies, from values that have broken other parsers.
enum NastyJSON {
    private static let keys = [
        "token", "observedAt", "startedAt", "installationId", "attributesType", "aliases", "frequentPushesEnabled",
        "pushType", "metadata", "alias", "activities", "limitPerAlias", "activityId", "kind", "value", "name",
        "activityLifetime",
        "tombstoneRetention", "eventRetention", "aliasRules", "jwt", "userId", "liveactivityId",
    ]

    private static let texts = [
        "", ".", "..", "\0", "a\0b", "\u{85}", "é", "e\u{301}", "🍕", "%00", "'; DROP TABLE apps; --", "00", "ABcd",
        "zz", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "2026-11-21T08:30:60Z", "P1D",
        "PT0.000000001S", "P99999999999999D", "any", "order-42", String(repeating: "x", count: 300), "{1,2}", "\\",
        "\"", "NULL", "infinity",
    ]

    static func body(using random: inout SeededGenerator) -> JSONValue { object(depth: 0, using: &random) }

    /// The path of a template, usually with the test's app and environment.
    static func path(_ template: String, using random: inout SeededGenerator) -> String {
        let parts = template.split(separator: "/").map { part in
            switch part {
            case "{bundleId}": "com.example.food"
            case "{environment}": "sandbox"
            case _ where part.hasPrefix("{"):
                ["a", "%00", "..", "a%2Fb", "%F0%9F%8D%95", "x y"].randomElement(using: &random)!
            default: String(part)
            }
        }
        return "/" + parts.joined(separator: "/").replacing(" ", with: "%20")
    }

    private static func object(depth: Int, using random: inout SeededGenerator) -> JSONValue {
        var object = JSONObject()
        for _ in 0..<Int.random(in: 0...8, using: &random) {
            object[keys.randomElement(using: &random)!] = value(depth: depth + 1, using: &random)
        }
        if depth == 0 {
            object["token"] = .token(Int.random(in: 0...20, using: &random))
            if Bool.random(using: &random) { object["observedAt"] = .minutesAgo(1) }
        }
        return .object(object)
    }

    private static func value(depth: Int, using random: inout SeededGenerator) -> JSONValue {
        switch Int.random(in: depth > 3 ? 0...5 : 0...8, using: &random) {
        case 0: .null
        case 1: .bool(.random(using: &random))
        case 2: .integer([0, -1, 1, .max, .min, 1000].randomElement(using: &random)!)
        case 3: .number([0.5, -0.0, 1e308, Double.leastNonzeroMagnitude, 1e19].randomElement(using: &random)!)
        case 4, 5: .string(texts.randomElement(using: &random)!)
        case 6: .array((0..<Int.random(in: 0...4, using: &random)).map { _ in value(depth: depth + 1, using: &random) })
        default: object(depth: depth + 1, using: &random)
        }
    }
}
