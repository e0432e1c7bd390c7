import Foundation
import HTTPTypes
import RegistryCore
import RegistryRules
import RegistryStore

extension ScopedCall {
    func register() async throws -> Response {
        var parameters = ParameterReader(call: call)
        let candidate = parameters.path("activityId", ActivityID.init)
        let registration = parameters.body(readRegistration)
        let id = try parameters.checked(candidate)
        let claimant = try checkRights(to: registration)
        let executor = call.executor
        let result = try await registrations.counting(.update, \.outcome) {
            try await registry.register(registration, as: id, in: scope, by: who, claimant: claimant, on: executor)
        }
        return .registration(result)
    }

    /// For apps with only a token and a `liveactivityId`.
    func registerByAlias() async throws -> Response {
        var parameters = ParameterReader(call: call)
        let (value, registration) = parameters.body { json, parameters in
            (json.string("alias", Alias.value), readRegistration(&json, &parameters))
        }
        let name = try parameters.checked(value)
        let claimant = try checkRights(to: registration)
        try checkAliases(AliasSet(stored: [Alias(checkedKind: Alias.liveActivityKind, value: name)]))
        let owner = findOwner(registration.installation)
        let result = try await registrations.counting(.update, \.outcome) {
            try await registry.register(registration, alias: name, owner: owner, in: scope, by: who, claimant: claimant)
        }
        return .registration(result)
    }

    func readActivity() async throws -> Response {
        let id = try read { $0.path("activityId", ActivityID.init) }
        guard let record = try await registry.activity(id, in: scope) else {
            throw Problem(.activityNotFound, "The activity is unknown in this app and environment.")
        }
        var json = JSONWriter(reservingCapacity: 1024)
        record.encode(to: &json, bundleID: scope.app.bundleID, environment: scope.environment)
        return Response(fields: [.contentType: MediaType.json], body: .bytes(json.bytes))
    }

    /// Succeeds for unknown activities, too.
    func end() async throws -> Response {
        var parameters = ParameterReader(call: call)
        let candidate = parameters.path("activityId", ActivityID.init)
        let (reason, time, installation) = readEnding(&parameters)
        let id = try parameters.checked(candidate)
        let claimant = try findClaimant(installation)
        try await registry.end(id, reason: reason, observedAt: time, in: scope, by: who, claimant: claimant)
        return .noContent
    }

    func endByAlias() async throws -> Response {
        var parameters = ParameterReader(call: call)
        let value = parameters.requiredQuery("alias", Alias.value)
        let (reason, time, installation) = readEnding(&parameters)
        let alias = try parameters.checked(value)
        let claimant = try findClaimant(installation)
        try await registry.end(
            alias: alias,
            owner: findOwner(installation),
            reason: reason,
            observedAt: time,
            in: scope,
            by: who,
            claimant: claimant
        )
        return .noContent
    }

    private func readRegistration(
        _ json: inout JSONReader,
        _ parameters: inout ParameterReader
    ) -> ActivityRegistration {
        var registration = ActivityRegistration(from: &json)
        let stated = json.optionalString("installationId", InstallationID.init)
        registration.installation = readInstallation(&parameters, isInPath: false, inBody: stated)
        registration.subject = call.principal.subject
        return registration
    }

    private func readEnding(_ parameters: inout ParameterReader) -> (EndReason, observedAt: Date?, InstallationHash?) {
        let reason = parameters.query("reason", as: EndReason.read)
        let observedAt = parameters.time("observedAt")
        return (reason ?? .ended, observedAt, readInstallation(&parameters, isInPath: false))
    }

    /// The store checks the ownership of records.
    private func checkRights(to registration: ActivityRegistration) throws(Problem) -> Claimant {
        let claimant = try findClaimant(registration.installation)
        try checkAliases(registration.aliases)
        return claimant
    }

    /// The owner of a name-only activity: the app for backends only, because clients without identity were rejected.
    private func findOwner(_ installation: InstallationHash?) -> ActivityOwner {
        ActivityOwner(installation: installation, subject: call.principal.subject)
    }
}

extension Response {
    fileprivate static func registration(_ result: RegistrationResult) -> Response {
        .json(result.outcome == .registered ? .created : .ok, result)
    }
}
