import HTTPTypes
import RegistryCore
import RegistryStore

extension ScopedCall {
    /// `PUT …/installations/{installationId}/activities`: all running activities of an installation.
    func applyFullState() async throws -> Answer {
        var parameters = ParameterReader(call)
        var json = JSONReader(call.body)
        let installation = readInstallation(&json, &parameters)
        let body = FullStateBody.read(&json)
        parameters.add(json.faults)
        let (state, hash) = try parameters.checked(body, installation)
        let permitted = state.readable.permitted(by: self)
        let claimant = try findClaimant(hash)
        let answer = try await registry.apply(permitted, of: hash, in: scope, by: who, claimant: claimant)
        for item in answer.results { registrations.count(item.result, of: .update) }
        return .json { json in
            json.member("results", state.results(answer))
            json.member("ended", answer.ended.map(\.rawValue))
        }
    }

    /// `PUT …/installations/{installationId}`: what its start and device tokens are found by.
    func putInstallation() async throws -> Answer {
        var parameters = ParameterReader(call)
        var json = JSONReader(call.body)
        let installation = readInstallation(&json, &parameters)
        let profile = InstallationProfile(from: &json)
        parameters.add(json.faults)
        let hash = try parameters.checked(installation)
        try checkAliases(profile.aliases)
        let claimant = try findClaimant(hash)
        let answer = try await registry.put(profile, for: hash, in: scope, by: who, claimant: claimant)
        return .json(answer.isNew ? .created : .ok, answer)
    }

    /// `GET …/installations/{installationId}`: all that is held about it, without whole tokens.
    func readInstallationRecord() async throws -> Answer {
        var parameters = ParameterReader(call)
        let installation = readInstallation(&parameters)
        guard let record = try await registry.installation(parameters.checked(installation), in: scope) else {
            throw Problem(.installationNotFound, "Nothing was ever said of this installation in this environment.")
        }
        return .json(.ok, record)
    }

    /// `DELETE …/installations/{installationId}`: log-out.
    func logOut() async throws -> Answer {
        var parameters = ParameterReader(call)
        let candidate = readInstallation(&parameters)
        let observedAt = parameters.query("observedAt", ParameterReader.timestamp)
        let installation = try parameters.checked(candidate)
        let claimant = try findClaimant(installation)
        try await registry.logOut(installation, observedAt: observedAt, in: scope, by: who, claimant: claimant)
        return .noContent
    }
}

extension ScopedCall {
    /// The installation of the path, with which the header must agree.
    func readInstallation(_ parameters: inout ParameterReader) -> InstallationHash? {
        readInstallationStatement(&parameters).hash
    }

    /// The installation of the path, with which the header and the body must agree.
    func readInstallation(_ json: inout JSONReader, _ parameters: inout ParameterReader) -> InstallationHash? {
        var installation = readInstallationStatement(&parameters)
        let stated = json.optionalString("installationId", InstallationID.init)
        installation.add(stated, named: "installationId", &parameters)
        return installation.hash
    }

    private func readInstallationStatement(_ parameters: inout ParameterReader) -> InstallationStatement {
        var installation = InstallationStatement(self, &parameters)
        let id = parameters.path("installationId", InstallationID.init)
        installation.add(id, named: "installationId", &parameters)
        return installation
    }
}

extension FullState {
    /// The same state, each item with the subject that registers it; one whose aliases the caller may not set gets that
    /// for its result, and its activity counts as present.
    fileprivate func permitted(by call: ScopedCall) -> FullState {
        let items = items.map { item in
            guard var registration = item.registration else { return item }
            do throws(Problem) {
                try call.checkAliases(registration.aliases)
            } catch {
                return Item(activityID: item.activityID, problem: error)
            }
            registration.subject = call.call.principal.subject
            return Item(activityID: item.activityID, registration: registration)
        }
        return FullState(observedAt: observedAt, items: items)
    }
}
