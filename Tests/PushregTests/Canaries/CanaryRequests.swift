import Foundation
import HTTPTypes
import RegistryCore

struct CanaryRequest {
    let method: HTTPRequest.Method
    let path: String
    var body: [UInt8]?
    var fields: HTTPFields = [:]
    /// The role of the credentials, unless the request has its own.
    var role = Role.client
}

extension CanaryRequest {
    private static let app = "/v1/apps/com.example.food"
    private static let scope = app + "/production"
    private static let installation = HTTPField.Name("X-Installation-Id")!

    private static func put(_ path: String, _ body: String, _ installation: String, _ role: Role = .client) -> Self {
        Self(
            method: path.hasSuffix("activities") && !path.contains("installations") ? .post : .put,
            path: scope + path,
            body: Array(body.utf8),
            fields: [Self.installation: installation],
            role: role
        )
    }

    /// All inputs for tokens, keys and installation ids, and many others: valid and malformed requests.
    static func all(_ canary: Canary, _ number: Int) -> [CanaryRequest] {
        registrations(canary, number) + installations(canary, number) + batches(canary, number) + others(canary)
            + paths(canary) + fields(canary, number)
    }

    private static func registrations(_ canary: Canary, _ number: Int) -> [CanaryRequest] {
        let (token, installation) = (canary.token, canary.installation)
        let bodies = [
            #"{"token":"\#(token)","installationId":"\#(installation)"}"#, #"{"token":"\#(token.uppercased())"}"#,
            #"{"token":"\#(token)""#, #"{"token":"\#(token)","#, #"{"token":\#(token)}"#, #"{"\#(token)":1}"#,
            #"{"token":["\#(token)"]}"#, #"{"token":{"\#(token)":"\#(token)"}}"#, #"{"token":"\#(token)0"}"#,
            #"{"token":"\#(token)\u0000"}"#, #"{"token":"\#(String(repeating: token, count: 20))"}"#,
            #"{"token":"00","installationId":"\#(installation)x"}"#,
            #"{"token":"00","installationId":"\#(String(repeating: installation, count: 9))"}"#,
            #"{"token":"00","observedAt":"\#(token)","startedAt":"\#(canary.key)","attributesType":7}"#,
            #"{"token":"00","metadata":"\#(token)","aliases":"\#(canary.key)"}"#,
            #"{"token":"00","aliases":{"\#(token)":"x"}}"#, #"{"token":"00","token":"\#(token)"}"#, token,
        ]
        var all = bodies.map { put("/activities/a-\(number)", $0, installation) }
        all.append(put("/activities", #"{"token":"\#(token)","alias":"match-\#(number)"}"#, installation))
        all.append(put("/activities", #"{"token":"\#(token)","alias":7}"#, installation))
        var broken = put("/activities/b-\(number)", #"{"token":"\#(token)","x":""#, installation)
        broken.body?.append(contentsOf: [0xFF, 0xFE, 0x22, 0x7D])
        return all + [broken, put("/activities/a-\(number)", bodies[0], "other-\(number)")]
    }

    private static func installations(_ canary: Canary, _ number: Int) -> [CanaryRequest] {
        let (token, installation) = (canary.token, canary.installation)
        let place = "/installations/\(installation)"
        let bodies = [
            #"{"token":"\#(token)"}"#, #"{"token":"\#(token.dropLast(2))ff"}"#, #"{"token":"\#(token)x"}"#,
            #"{"token":"\#(token)","observedAt":"\#(canary.key)"}"#, #"{"token":["\#(token)"]}"#, token,
        ]
        var all: [CanaryRequest] = []
        for kind in ["/device-token", "/start-tokens/Delivery"] {
            all += bodies.map { put(place + kind, $0, installation) }
            all.append(CanaryRequest(method: .delete, path: scope + place + kind + "?observedAt=\(token)"))
        }
        let profile = #"{"aliases":{"liveactivityId":"i-\#(number)"},"metadata":{"a":1}}"#
        return all + [
            put(place, profile, installation), put(place, #"{"aliases":"\#(token)"}"#, installation),
            CanaryRequest(method: .get, path: scope + place, role: .sender),
        ]
    }

    private static func others(_ canary: Canary) -> [CanaryRequest] {
        let (token, key, installation) = (canary.token, canary.key, canary.installation)
        return [
            admin("/erasures", #"{"installationId":"\#(installation)"}"#),
            admin("/erasures", #"{"installationId":"\#(installation)","subject":"\#(token)"}"#),
            admin("/erasures", #"{"token":"\#(token)"}"#), admin("/erasures", #"{"alias":"\#(key)"}"#),
            put("/aliases/liveactivityId/c/channel", #"{"channelId":"\#(token)!"}"#, installation, .sender),
            admin("/keys", #"{"role":"\#(key)","expiresIn":"\#(token)"}"#, in: app),
            CanaryRequest(method: .delete, path: "\(app)/keys/\(key)", role: .admin),
        ]
    }

    private static func admin(_ path: String, _ body: String, in base: String = scope) -> CanaryRequest {
        CanaryRequest(method: .post, path: base + path, body: Array(body.utf8), role: .admin)
    }

    private static func batches(_ canary: Canary, _ number: Int) -> [CanaryRequest] {
        let (token, installation) = (canary.token, canary.installation)
        let time = RFC3339.format(Date())
        let state = "/installations/\(installation)/activities"
        let item = #"{"activityId":"f-\#(number)","token":"\#(token)"}"#
        let other = #"{"observedAt":"\#(time)","activities":[{"activityId":"g","token":"\#(token)x"}]}"#
        let jwt = #"{"jwt":{"issuer":"i","audience":"a","jwksUrl":"https://u:\#(canary.key)@127.0.0.1/"}}"#
        return [
            put(state, #"{"observedAt":"\#(time)","activities":[\#(item)]}"#, installation),
            put(state, other, installation),
            put(state, #"{"observedAt":"\#(token)","activities":\#(token)}"#, installation),
            put(state, #"{"activities":[{"activityId":"\#(token)""#, installation),
            post("/feedback", #"{"reports":[{"token":"\#(token)","status":410,"reason":"Unregistered"}]}"#),
            post("/feedback", #"{"reports":[{"token":"\#(token)","status":400,"reason":"BadDeviceToken"}]}"#),
            post("/feedback", #"{"reports":[{"token":"\#(token)x","status":"\#(canary.key)","reason":1}]}"#),
            post("/feedback", #"{"reports":[{"token":"\#(token)"#),
            post("/resolve", #"{"aliases":[{"kind":"\#(token)","value":7}]}"#),
            post("/resolve", #"{"aliases":"\#(canary.key)"}"#),
            post("/plan", #"{"alias":{"kind":"\#(token)"},"to":["\#(canary.key)"],"lease":"\#(token)"}"#),
            CanaryRequest(method: .put, path: app, body: Array(jwt.utf8), role: .root),
        ]
    }

    private static func post(_ path: String, _ body: String) -> CanaryRequest {
        CanaryRequest(method: .post, path: scope + path, body: Array(body.utf8), role: .sender)
    }

    private static func paths(_ canary: Canary) -> [CanaryRequest] {
        [canary.token, canary.key].flatMap { secret in
            [
                "/\(secret)", "/v1/\(secret)", "/v1/apps/\(secret)", "/v1/apps/\(secret)/production/activities/a",
                "\(app)/\(secret)/activities/a", "\(scope)/activities/\(secret)", "\(scope)/\(secret)",
                "\(scope)/activities/a?token=\(secret)", "\(scope)/activities/%ZZ\(secret)",
                "\(scope)/aliases/liveactivityId/x/activities?cursor=\(secret)",
                "\(scope)/aliases/liveactivityId/x/activities?limit=\(secret)",
                "\(scope)/aliases/\(secret)%00/x/activities", "/livez?key=\(secret)", "/readyz?\(secret)",
            ].map { CanaryRequest(method: .get, path: $0, role: .sender) }
        }
    }

    private static func fields(_ canary: Canary, _ number: Int) -> [CanaryRequest] {
        let (token, key, installation) = (canary.token, canary.key, canary.installation)
        let credentials = [
            "Bearer \(key)", "Bearer \(key.dropLast())", "Bearer \(key)x", "bearer  \(key)", "Basic \(key)", key,
            "Bearer eyJhbGciOiJub25lIn0.\(token).\(key)", "Bearer \(token)", "Bearer \(key) \(token)",
        ]
        let forwarded = HTTPField.Name("X-Forwarded-For")!
        let wrong = [.accept, .contentType, .cookie, .userAgent, forwarded, .contentEncoding, .expect]
        let path = "\(scope)/activities/a-\(number)"
        let body = Array(#"{"token":"\#(token)"}"#.utf8)
        return credentials.map { CanaryRequest(method: .put, path: path, body: body, fields: [.authorization: $0]) }
            + wrong.map { CanaryRequest(method: .put, path: path, body: body, fields: [$0: "\(key) \(token)"]) }
            + [installation, String(repeating: installation, count: 9)].map {
                CanaryRequest(method: .delete, path: path, fields: [Self.installation: $0])
            }
    }
}

struct CanarySearch {
    /// A part of a canary counts if it has this length and is at the canary's beginning or end.
    private static let length = 20
    private var needles: Set<[UInt8]> = []

    mutating func add(_ secret: String) {
        let bytes = Array(secret.lowercased().utf8)
        needles.insert(Array(bytes.prefix(Self.length)))
        needles.insert(Array(bytes.suffix(Self.length)))
    }

    func count(in text: String) -> Int {
        let bytes = text.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        var (count, start) = (0, 0)
        for (index, byte) in bytes.enumerated() {
            guard (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte) else {
                start = index + 1
                continue
            }
            let first = index + 1 - Self.length
            if first >= start, needles.contains(Array(bytes[first...index])) { count += 1 }
        }
        return count
    }

    /// Finds bytes printed as Swift prints an array.
    static func holdsByteArray(_ text: String) -> Bool { text.firstMatch(of: /(?:\d{1,3}, ){7}/) != nil }
}

/// One secret of each kind, all with the same number.
struct Canary {
    let token: String
    let key: String
    let installation: String

    init() {
        token = (0..<5).map { _ in Self.hex() }.joined()
        key = APIKey(random: .client).text.revealed
        installation = Self.hex()
    }

    private static func hex() -> String { UUID().uuidString.replacing("-", with: "").lowercased() }

    /// The texts that must not appear. A key's id is public.
    var secrets: [String] { [token, String(key.dropFirst(APIKeyID.publicLength)), installation] }
}

extension APIKeyID {
    /// The prefix, the id and the underscore.
    fileprivate static let publicLength = 17
}
