import Foundation
import HTTPTypes
import RegistryCore
import RegistryRules
import RegistryStore

extension ScopedCall {
    func register() async throws -> Response {
        var parameters = ParameterReader(call)
        let id = parameters.path("activityId", ActivityID.init)
        let registration = parameters.body(readRegistration)
        let checkedID = try parameters.checked(id)
        let claimant = try checkRights(to: registration)
        let result = try await registrations.counting(.update, \.outcome) {
            try await registry.register(
                registration,
                as: checkedID,
                in: scope,
                by: who,
                claimant: claimant,
                on: call.executor
            )
        }
        return .registration(result)
    }

    /// For apps with only a token and a `liveactivityId`.
    func registerByAlias() async throws -> Response {
        var parameters = ParameterReader(call)
        let (value, registration) = parameters.body { json, parameters in
            (json.string("alias", Alias.value), readRegistration(&json, &parameters))
        }
        let alias = try parameters.checked(value)
        let claimant = try checkRights(to: registration)
        try checkAliases(AliasSet(stored: [Alias(checkedKind: Alias.liveActivityKind, value: alias)]))
        let owner = findOwner(registration.installation)
        let result = try await registrations.counting(.update, \.outcome) {
            try await registry.register(
                registration,
                alias: alias,
                owner: owner,
                in: scope,
                by: who,
                claimant: claimant
            )
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
        var parameters = ParameterReader(call)
        let candidate = parameters.path("activityId", ActivityID.init)
        let ending = readEnding(&parameters)
        let id = try parameters.checked(candidate)
        let claimant = try findClaimant(ending.installation)
        try await registry.end(
            id,
            reason: ending.reason,
            observedAt: ending.observedAt,
            in: scope,
            by: who,
            claimant: claimant
        )
        return .noContent
    }

    func endByAlias() async throws -> Response {
        var parameters = ParameterReader(call)
        let value = parameters.requiredQuery("alias", Alias.value)
        let ending = readEnding(&parameters)
        let alias = try parameters.checked(value)
        let claimant = try findClaimant(ending.installation)
        let owner = findOwner(ending.installation)
        try await registry.end(
            alias: alias,
            owner: owner,
            reason: ending.reason,
            observedAt: ending.observedAt,
            in: scope,
            by: who,
            claimant: claimant
        )
        return .noContent
    }
}

extension ScopedCall {
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

    private func readEnding(
        _ parameters: inout ParameterReader
    ) -> (reason: EndReason, observedAt: Date?, installation: InstallationHash?) {
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

    /// The owner of a name-only activity. Only backends get the app as owner, because clients without an identity were
    /// rejected before.
    private func findOwner(_ installation: InstallationHash?) -> ActivityOwner {
        ActivityOwner(installation: installation, subject: call.principal.subject)
    }
}

extension Response {
    fileprivate static func registration(_ result: RegistrationResult) -> Response {
        .json(result.outcome == .registered ? .created : .ok, result)
    }
}
