import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore

@testable import RegistryServer

extension ParserFuzzTests {
    static let requestParsers = [
        authorization, query, requestBodies, channelIDs, importLine, consoleCookie, consoleSearch, consoleForm,
    ]

    private static let authorization = Parser(
        name: "Authorization",
        seeds: [
            "Bearer " + APIKey(random: .sender).text.revealed, "bearer  prc_x", "Basic dTpw", "Bearer a.b.c", "Bearer",
        ]
    ) { bytes in
        let text = text(bytes)
        guard let credentials = try? Credentials([.authorization: text]) else { return false }
        guard case .key(let key) = credentials else { return true }
        try same(text.contains(key.text.revealed), true, bytes)
        return true
    }

    private static let query = Parser(
        name: "query",
        seeds: [
            "limit=100&cursor=abc", "observedAt=2026-01-01T00:00:00Z&reason=ended", "limit=0&limit=1", "%26=%3D&=&",
        ]
    ) { bytes in
        guard let query = try? Query(Substring(text(bytes))) else { return false }
        for value in query["limit"] { _ = try? Int.within(1...1000)(.string(value)) }
        for value in query["observedAt"] { _ = try? Date.read(.string(value)) }
        return true
    }

    private static let requestBodies = Parser(
        name: "bodies",
        seeds: [
            #"{"reports":[{"token":"00ff","status":410,"reason":"Unregistered","timestamp":1795248000000,"apnsId":"x"}]}"#,
            #"{"token":"00ff","observedAt":"2026-01-01T00:00:00Z","installationId":"i"}"#,
            #"{"aliases":{"userId":["a","b"]},"metadata":{"a":[1,{"b":null}]},"observedAt":"2026-01-01T00:00:00Z"}"#,
            #"{"channelId":"dHN0LXNyY2gtY2hubA==","messageStoragePolicy":1}"#,
            #"{"role":"sender","name":"n","expiresIn":"P90D","expiresAt":"2036-01-01T00:00:00Z"}"#,
            #"{"name":"Food","activityLifetime":"PT8H","aliasRules":{"orderId":"backend"},"jwt":{"issuer":"i"}}"#,
            #"{"observedAt":"2026-01-01T00:00:00Z","activities":[{"activityId":"a","token":"00"},{},7]}"#,
            #"{"aliases":[{"kind":"userId","value":"u"}],"limitPerAlias":5}"#,
            #"{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}],"issuer":"i","audience":"a","jwksUrl":"https://x/"}"#,
        ]
    ) { bytes in
        guard let value = try? JSONParser.parse(bytes) else { return false }
        var readers = (0..<9).map { _ in JSONReader(value) }
        _ = ActivityRegistration(from: &readers[6])
        _ = FullStateBody.read(&readers[7])
        _ = ResolveBody.read(&readers[8])
        if case .object(let object) = value { _ = JWTRequirements(object) }
        _ = FeedbackReport.readBody(&readers[0])
        let token = TokenRegistration.read(&readers[1])
        _ = InstallationProfile(from: &readers[2])
        _ = BroadcastChannel.read(&readers[3])
        _ = APIKeyRequest.read(&readers[4], now: .distantPast)
        _ = AppChanges(from: &readers[5])
        return token != nil
    }

    private static let channelIDs = Parser("channel id", ["dHN0LXNyY2gtY2hubA==", "AAAA", "AAA=", "====", "+/+/"]) {
        try BroadcastChannel.id($0).string
    }

    /// The console's session cookie: its value and the fields around it are read unchanged.
    private static let consoleCookie = Parser(
        name: "cookies of the console",
        seeds: [
            "pushreg-console=\(session); a=b", "a=b;pushreg-console=\(session)", "pushreg-console==;;= ;a",
            "__Host-pushreg-console=1.pra_0aB1cD2eF3gH.1.2.x.00", "pushreg-sign-in=00; pushreg-console=.....",
            "pushreg-console=1.pra_0aB1cD2eF3gH.9223372036854775807.9223372036854775807.x.00",
        ]
    ) { bytes in
        let text = text(bytes)
        let fields: HTTPFields = [.cookie: text]
        let value = ConsoleCookie(purpose: .session, isSecure: false).value(in: fields)
        _ = ConsoleCookie(purpose: .signIn, isSecure: true).value(in: fields)
        // Also without other fields, because mutations then hit the claim more often.
        let claims = [value, text].compactMap { $0.flatMap(ConsoleSession.Claim.init) }
        for claim in claims {
            try same(claim.isProved(by: otherDigest), false, bytes)
            let written = claim.session.sealed(by: digest)
            try same(ConsoleSession.Claim(written)?.session, claim.session, bytes)
            try same(ConsoleSession.Claim(written)?.isProved(by: digest), true, bytes)
        }
        return !claims.isEmpty
    }

    private static let digest = [UInt8](repeating: 1, count: 32)
    private static let otherDigest = [UInt8](repeating: 2, count: 32)
    private static let session: String = {
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        return ConsoleSession(of: APIKey(random: .admin).id.rawValue, at: now).sealed(by: digest)
    }()

    private static let consoleSearch = Parser(
        name: "search of the console",
        seeds: [
            "order-42", "alias:userId:u-7 state:stale", "subject:\"a b\" since:2h", "event: :x \"",
            String(repeating: "0f", count: 32), APIKey(random: .root).text.revealed, "fingerprint:1a2b3c4d",
        ]
    ) { bytes in
        let search = SearchText(text(bytes))
        if let shown = search.withoutSecrets { try same(SearchText(shown).withoutSecrets, nil, bytes) }
        for term in search.terms where !term.value.contains("\"") {
            let again = SearchText((term.name.map { "\($0):" } ?? "") + SearchText.quoted(term.value))
            // Without its quotation marks, a bare word may look like a qualifier.
            if term.name != nil { try same(again.terms, [term], bytes) }
        }
        return search.terms.contains { $0.name != nil }
    }

    private static let consoleForm = Parser(
        name: "choices of the console",
        seeds: [
            "kind=update&reason=unconfirmed&unconfirmedFor=PT2H", "kind=start&attributesType=Match", "kind=device",
            "unconfirmedFor=P30D", "next=%2Fconsole%2Fa%2Fb%3Fc", "next=//evil",
        ]
    ) { bytes in
        guard let query = try? Query(Substring(text(bytes))) else { return false }
        if let next = query["next"].last, ConsoleLink.isOwn(next) { try same(next.hasPrefix("/console"), true, bytes) }
        return (try? StaleQuestion(in: .sample()) { query[$0].last }) != nil
    }

    /// An export writes an import's line unchanged.
    private static let importLine = Parser(
        name: "line of an import",
        seeds: [
            #"{"activityId":"a","token":"00ff","observedAt":"2026-01-01T00:00:00.123456Z","subject":"u","metadata":{"a":[1]}}"#,
            #"{"record":"activity","alias":"order-42","token":"00ff","observedAt":"2026-01-01T00:00:00Z","installationId":"i"}"#,
            #"{"record":"activity","activityId":"a","observedAt":"2026-01-01T00:00:00Z","startedAt":"2025-12-31T23:00:00Z","attributesType":"Match","frequentPushesEnabled":true,"aliases":{"userId":["a","b"]}}"#,
            #"{"record":"end","activityId":"a","reason":"dismissed","observedAt":"2026-01-01T00:00:00Z"}"#,
            #"{"record":"end","alias":"order-42","subject":"u","observedAt":"2026-01-01T00:00:00Z"}"#,
            #"{"record":"installation","installation":"\#(hash)","aliases":{},"observedAt":"2026-01-01T00:00:00Z"}"#,
            #"{"record":"log-out","installation":"\#(hash)","observedAt":"2026-01-01T00:00:00Z"}"#,
            #"{"record":"start-token","installation":"\#(hash)","attributesType":"M","token":"00","observedAt":"2026-01-01T00:00:00Z"}"#,
            #"{"record":"device-token","installationId":"i","token":"00ff","observedAt":"2026-01-01T00:00:00Z"}"#,
        ]
    ) { bytes in
        guard let record = record(bytes) else { return false }
        guard record.times.allSatisfy(exactYears.contains) else { return true }
        try same(Self.record(record.jsonBytes), record, bytes)
        return true
    }

    private static let hash = String(repeating: "0f", count: 32)

    private static func record(_ line: [UInt8]) -> TransferRecord? {
        guard let value = try? JSONParser.parse(line) else { return nil }
        var json = JSONReader(value)
        return TransferRecord.read(&json) { InstallationHash(of: $0, in: App.sample().bundleID) }
    }
}

extension TransferRecord {
    fileprivate var times: [Date] {
        switch self {
        case .activity(_, let registration), .named(_, let registration):
            [registration.observedAt, registration.startedAt].compactMap(\.self)
        case .end(_, _, let time), .namedEnd(_, _, let time), .logOut(_, let time): [time]
        case .installation(_, let profile, _): [profile.observedAt].compactMap(\.self)
        case .token(_, _, let registration): [registration.observedAt].compactMap(\.self)
        }
    }
}
