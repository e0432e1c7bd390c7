// A program for the Swift client of openapi-generator: the calls of a Swift app or sender.

import Foundation
import OpenAPIClient

let app = "com.example.food"
let environment = OpenAPIClient.Environment.sandbox
nonisolated(unsafe) var calls = 0
nonisolated(unsafe) var wrong = 0

func check(_ isRight: Bool, _ words: String) {
    calls += 1
    guard !isRight else { return }
    wrong += 1
    print("WRONG \(words)")
}

/// A caller with the key of a role.
func caller(_ role: String) -> OpenAPIClientAPIConfiguration {
    let key = ProcessInfo.processInfo.environment["\(role)_KEY"] ?? ""
    return OpenAPIClientAPIConfiguration(
        basePath: CommandLine.arguments[1],
        customHeaders: ["Authorization": "Bearer \(key)"]
    )
}

let client = caller("CLIENT")
let sender = caller("SENDER")
let admin = caller("ADMIN")

func register(_ token: String, minutesAgo: Double, _ aliases: [String: AliasValues]? = nil) async throws
    -> RegistrationResponse
{
    let observedAt = Date(timeIntervalSinceNow: -minutesAgo * 60)
    return try await ClientsAPI.registerActivity(
        bundleId: app,
        environment: environment,
        activityId: "swift-1",
        registration: Registration(token: token, observedAt: observedAt, aliases: aliases),
        xInstallationId: "phone-1",
        apiConfiguration: client
    )
}

let aliases: [String: AliasValues] = ["liveactivityId": .typeArrayOfString(["swift-42", "swift-43"])]
let registered = try await register("0a0a", minutesAgo: 5, aliases)
check(registered.outcome == .registered, "the first registration's outcome is \(registered.outcome)")
let rotated = try await register("0b0b", minutesAgo: 3, ["liveactivityId": .typeString("swift-42")])
check(rotated.outcome == .rotated, "the rotation's outcome is \(rotated.outcome)")

do {
    _ = try await register("0c0c", minutesAgo: 4)
    check(false, "a late registration is taken")
} catch ErrorResponse.error(let status, let body, _, _) {
    let problem = try client.codableHelper.jsonDecoder.decode(SupersededProblem.self, from: body ?? Data())
    check(status == 409 && problem.status == 409 && problem.code == .superseded, "a late registration gives \(problem)")
    check(problem.observedAt != nil, "a 409 does not tell the time")
}

let resolved = try await SendersAPI.resolveAliases(
    bundleId: app,
    environment: environment,
    resolveRequest: ResolveRequest(aliases: [
        Alias(kind: "liveactivityId", value: "swift-42"),
        Alias(kind: "liveactivityId", value: String(repeating: "ü", count: 200)),
    ]),
    apiConfiguration: sender
)
if case .typeResolvedAlias(let alias)? = resolved.results.first {
    check(alias.activities.map(\.token) == ["0b0b"], "an alias resolves to \(alias)")
} else {
    check(false, "an alias resolves to \(resolved)")
}
if case .typeRefusedAlias(let alias)? = resolved.results.last {
    check(alias.problem.code == .invalidRequest, "a long alias is refused as \(alias)")
} else {
    check(false, "a long alias resolves to \(resolved)")
}

let audience = Audience.typeArrayOfString(["food"])
let keys = JSONWebKeySet(keys: [["kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"]])
let jwt = JWTSettings(issuer: "https://login.example.com", audience: audience, jwks: keys)
let written = try await AdminsAPI.putApp(bundleId: app, appSettings: AppSettings(jwt: jwt), apiConfiguration: admin)
check(written.jwt == jwt, "an app's JWT settings come back as \(String(describing: written.jwt))")
let read = try await AdminsAPI.getApp(bundleId: app, apiConfiguration: admin)
let again = try await AdminsAPI.putApp(bundleId: app, appSettings: AppSettings(jwt: read.jwt), apiConfiguration: admin)
check(again.jwt == jwt, "an app's JWT settings, written back, come as \(String(describing: again.jwt))")

let purge = PurgeRequest(kind: "device", unconfirmedFor: "P3660D")
let counts = try await AdminsAPI.purgeStaleTokens(
    bundleId: app,
    environment: environment,
    purgeRequest: purge,
    apiConfiguration: admin
)
if case .typePurgeCounts(let counts) = counts {
    check(counts.dryRun, "a dry run is \(counts)")
} else {
    check(false, "a dry run is \(counts)")
}

let alias = Alias(kind: "liveactivityId", value: "swift-42")
let erased = try await AdminsAPI.erase(
    bundleId: app,
    environment: environment,
    erasureRequest: .typeAliasErasure(AliasErasure(alias: alias)),
    apiConfiguration: admin
)
check(erased.activities == 1, "an alias's erasure counts \(erased)")

print("openapi-generator for Swift: \(calls) checks, \(wrong) wrong")
exit(wrong == 0 ? 0 : 1)
