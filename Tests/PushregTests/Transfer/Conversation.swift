import RegistryCore
import TestSupport
import Testing

/// Sends random valid requests to a service, and checks after each that it returns the same values.
struct Conversation {
    /// The facts given for an activity that only an export returns.
    struct Said {
        let metadata: Metadata?
        let aliases: AliasSet?
    }

    let service: ServiceProcess
    private(set) var said: [UTF8Text: Said] = [:]
    private var speech: RandomSpeech
    private var paths: [String] = []
    private static let console = "/console/com.example.food/sandbox"

    init(service: ServiceProcess, seed: UInt64) {
        self.service = service
        speech = RandomSpeech(seed: seed)
    }

    mutating func `continue`() async throws {
        switch Int.random(in: 0..<8, using: &speech) {
        case 0, 1: try await sayActivity()
        case 2: try await sayName()
        case 3: try await sayInstallation()
        case 4: try await sayFullState()
        case 5: try await sayChannel()
        case 6: try await saySettings()
        default: try await sayReport()
        }
    }

    @discardableResult
    private func call(_ method: String, _ path: String, _ body: String? = nil, _ statuses: Set<Int>) async throws
        -> JSONValue
    {
        let answer = try await service.call(method, path, body)
        #expect(statuses.contains(answer.status), "\(method) \(path) \(body ?? ""): \(answer.status) \(answer.body)")
        return (try? JSONParser.parse(answer.body, maximumDepth: JSONParser.deepestNesting)) ?? .null
    }

    private mutating func members() throws -> (members: [String], said: Said) {
        let (aliases, metadata) = (speech.aliases(), try speech.metadata())
        let gives = (aliases: Bool.random(using: &speech), metadata: Bool.random(using: &speech))
        let said = Said(
            metadata: gives.metadata ? try Metadata(JSONParser.parse(metadata)) : nil,
            aliases: gives.aliases ? try AliasSet(aliases.aliases) : nil
        )
        let members =
            (gives.aliases ? [#""aliases":\#(aliases.json)"#] : [])
            + (gives.metadata ? [#""metadata":\#(metadata)"#] : [])
        return (members, said)
    }

    private static func object(_ members: [String]) -> String { "{\(members.joined(separator: ","))}" }

    private mutating func sayActivity() async throws {
        let (id, token, type) = (speech.name(), speech.token(), speech.text())
        let observed = speech.time(minutesAgo: 1...200)
        let started = speech.time(minutesAgo: 201...400)
        let (given, said) = try members()
        let frequent = Bool.random(using: &speech)
        let body = Self.object(
            [
                #""token":"\#(token)""#, #""observedAt":"\#(observed)""#, #""startedAt":"\#(started)""#,
                #""attributesType":\#(RandomSpeech.quoted(type))"#, #""frequentPushesEnabled":\#(frequent)"#,
                #""installationId":\#(RandomSpeech.quoted(speech.name()))"#, #""pushType":"channel""#,
            ] + given
        )
        let path = "…/activities/\(RandomSpeech.escaped(id))"
        try await call("PUT", path, body, [201])
        self.said[UTF8Text(id)] = said
        let read = try await call("GET", path, nil, [200])
        #expect(read["activityId"] == .string(id))
        #expect(read["token"] == .string(token))
        #expect(read["attributesType"] == .string(type))
        #expect(read["frequentPushesEnabled"] == .bool(frequent))
        #expect(read["observedAt"] == Self.milliseconds(observed))
        #expect(read["startedAt"] == Self.milliseconds(started))
        for alias in said.aliases?.aliases ?? [] { try await checkAlias(alias, names: id, token) }
        paths.append("\(Self.console)/activities/\(RandomSpeech.escaped(id))")
        paths.append("…/audit/events?activityId=\(RandomSpeech.escaped(id))")
        paths.append("\(Self.console)/search?q=\(RandomSpeech.escaped(id))")
    }

    /// A time as in responses.
    private static func milliseconds(_ time: String) -> JSONValue? {
        RFC3339.parse(time).map { .string(RFC3339.format($0)) }
    }

    private mutating func checkAlias(_ alias: Alias, names id: String, _ token: String) async throws {
        let quoted = RandomSpeech.quoted(alias.value.string)
        let body = #"{"aliases":[{"kind":"\#(alias.kind)","value":\#(quoted)}],"limitPerAlias":1000}"#
        let answer = try await call("POST", "…/resolve", body, [200])
        let found = answer["results"]?[0]["activities"]?.elements ?? []
        #expect(found.contains { $0["activityId"] == .string(id) && $0["token"] == .string(token) }, "\(alias)")
        let (kind, value) = (alias.kind.string, RandomSpeech.escaped(alias.value.string))
        paths.append("…/aliases/\(kind)/\(value)/activities")
        paths.append("…/audit/explain?kind=\(kind)&value=\(value)")
        paths.append("\(Self.console)/aliases/\(kind)/\(value)")
        paths.append("…/audit/events?alias=\(RandomSpeech.escaped(alias.description))")
    }

    private mutating func sayName() async throws {
        let name = speech.name(upTo: 256)
        let (given, _) = try members()
        func body(_ token: String, _ members: [String]) -> String {
            Self.object([#""token":"\#(token)""#, #""alias":\#(RandomSpeech.quoted(name))"#] + members)
        }
        let ending = "…/activities?alias=\(RandomSpeech.escaped(name))"
        try await call("POST", "…/activities", body(speech.token(), given), [201])
        let again = Bool.random(using: &speech) ? given : []
        try await call("POST", "…/activities", body(speech.token(), again), [200])
        guard Bool.random(using: &speech) else { return }
        try await call("DELETE", ending, nil, [204])
        if Bool.random(using: &speech) { try await call("POST", "…/activities", body(speech.token(), given), [201]) }
    }

    private mutating func sayInstallation() async throws {
        let (id, type) = (speech.name(), speech.text())
        let (given, said) = try members()
        let path = "…/installations/\(RandomSpeech.escaped(id))"
        let observed = speech.time(minutesAgo: 1...1000)
        try await call("PUT", path, Self.object([#""observedAt":"\#(observed)""#] + given), [200, 201])
        let places = ["start-tokens/\(RandomSpeech.escaped(type))", "device-token", "tokens/widget"]
        let tokens = places.map { ($0, speech.token()) }
        for (place, token) in tokens {
            let body = #"{"token":"\#(token)","observedAt":"\#(speech.time(minutesAgo: 1...1000))"}"#
            try await call("PUT", "\(path)/\(place)", body, [201])
        }
        let read = try await call("GET", path, nil, [200])
        #expect(read["metadata"]?.canonicalBytes == said.metadata?.canonicalJSON)
        #expect(read["aliases"]?.canonicalBytes == said.aliases?.canonicalJSON)
        #expect(read["tokens"]?.all("attributesType").contains(.string(type)) == true)
        if case .string(let hash)? = read["installation"] { paths.append("\(Self.console)/installations/\(hash)") }
        for alias in said.aliases?.aliases ?? [] {
            let list = "…/aliases/\(alias.kind)/\(RandomSpeech.escaped(alias.value.string))/"
            for (place, (_, token)) in zip(["start-tokens", "device-tokens", "tokens/widget"], tokens) {
                let found = try await call("GET", list + place + "?limit=1000", nil, [200])
                #expect(found["tokens"]?.all("token").contains(.string(token)) == true)
            }
        }
    }

    private mutating func sayFullState() async throws {
        var items: [String] = []
        for _ in 0..<Int.random(in: 1...5, using: &speech) {
            let id = speech.name()
            let (given, said) = try members()
            let members = [#""activityId":\#(RandomSpeech.quoted(id))"#, #""token":"\#(speech.token())""#]
            items.append(Self.object(members + given))
            self.said[UTF8Text(id)] = said
        }
        let observed = speech.time(minutesAgo: 1...100)
        let body = #"{"observedAt":"\#(observed)","activities":[\#(items.joined(separator: ","))]}"#
        let path = "…/installations/\(RandomSpeech.escaped(speech.name()))/activities"
        let answer = try await call("PUT", path, body, [200])
        let outcomes = answer["results"]?.all("outcome") ?? []
        #expect(outcomes == Array(repeating: "registered", count: items.count), "\(answer)")
    }

    private mutating func sayChannel() async throws {
        let path = "…/aliases/liveactivityId/\(RandomSpeech.escaped(speech.text(upTo: 256)))/channel"
        let id = ["AAAA", "+/+/", "dHN0LXNyY2gtY2hubA=="].randomElement(using: &speech)!
        let body = #"{"channelId":"\#(id)","messageStoragePolicy":1}"#
        try await call("PUT", path, body, [200, 201])
        #expect(try await call("GET", path, nil, [200])["channelId"] == .string(id))
    }

    /// The public key of an example in RFC 7517.
    private static let key =
        #""kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","#
        + #""y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM""#

    private mutating func saySettings() async throws {
        let name = speech.name(upTo: 256)
        let keys = #"{"keys":[{\#(Self.key),"more":\#(speech.object())}],"x":\#(speech.json())}"#
        let (issuer, audience) = (RandomSpeech.quoted(speech.text()), RandomSpeech.quoted(speech.text()))
        let jwt = #"{"issuer":\#(issuer),"audience":[\#(audience)],"jwks":\#(keys)}"#
        let body = #"{"name":\#(RandomSpeech.quoted(name)),"aliasRules":{"K":"any","userId":"backend"},"jwt":\#(jwt)}"#
        let path = "/v1/apps/com.example.settings"
        try await call("PUT", path, body, [200, 201])
        let read = try await call("GET", path, nil, [200])
        #expect(read["name"] == .string(name))
        #expect(read["aliasRules"] == ["K": "any", "userId": "backend"])
        #expect(try read["jwt"]?.canonicalBytes == JSONParser.parse(jwt).canonicalBytes)
    }

    private mutating func sayReport() async throws {
        let reason = RandomSpeech.quoted(speech.text(upTo: 256))
        let report = #"{"token":"\#(speech.token())","status":400,"reason":\#(reason)}"#
        let nul = #"{"token":"\#(speech.token())","status":400,"reason":"\u0000"}"#
        let answer = try await call("POST", "…/feedback", #"{"reports":[\#(report),\#(nul)]}"#, [200])
        let results = answer["results"]?.elements ?? []
        #expect(results.count == 2, "\(answer)")
        #expect(results.first?["action"] == "unknown", "\(answer)")
        #expect(results.last?["problem"] != nil, "\(answer)")
    }

    func readEverything() async throws {
        let pages = ["", "/search?q=K", "/stale", "/installations", "/channels", "/keys", "/system"]
        let lists = [
            "…/audit/events?limit=1000", "…/audit/stale?unconfirmedFor=PT1S&limit=1000", "…/stats", "/v1/apps",
        ]
        for path in paths + lists + pages.map({ Self.console + $0 }) {
            let answer = try await service.call("GET", path)
            #expect([200, 303].contains(answer.status), "\(path): \(answer.status) \(answer.body.prefix(400))")
        }
    }
}
