import HTTPTypes
import RegistryCore
import RegistryStore

extension ScopedCall {
    func applyFullState() async throws -> Response {
        var parameters = ParameterReader(call)
        let (installation, body) = call.readBody { json in
            let installation = readInstallation(&json, &parameters)
            let body = FullStateBody.read(&json)
            parameters.add(json.faults)
            return (installation, body)
        }
        let (state, hash) = try parameters.checked(body, installation)
        let permitted = state.readable.permitted(by: self)
        let claimant = try findClaimant(hash)
        let result = try await registry.apply(permitted, of: hash, in: scope, by: who, claimant: claimant)
        for item in result.results { registrations.count(item.result, of: .update) }
        return .json { json in
            json.member("results", state.results(result))
            json.member("ended", result.ended.map(\.rawValue))
        }
    }

    func putInstallation() async throws -> Response {
        var parameters = ParameterReader(call)
        let (installation, profile) = call.readBody { json in
            let installation = readInstallation(&json, &parameters)
            let profile = InstallationProfile(from: &json)
            parameters.add(json.faults)
            return (installation, profile)
        }
        let hash = try parameters.checked(installation)
        try checkAliases(profile.aliases)
        let claimant = try findClaimant(hash)
        let result = try await registry.put(profile, for: hash, in: scope, by: who, claimant: claimant)
        return .json(result.isNew ? .created : .ok, result)
    }

    /// Without complete tokens.
    func readInstallationRecord() async throws -> Response {
        var parameters = ParameterReader(call)
        let installation = readInstallation(&parameters)
        guard let record = try await registry.installation(parameters.checked(installation), in: scope) else {
            throw Problem(.installationNotFound, "The installation is unknown in this app and environment.")
        }
        return .json(.ok, record)
    }

    func logOut() async throws -> Response {
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
    /// The installation of the path. The header, if any, must be equal.
    func readInstallation(_ parameters: inout ParameterReader) -> InstallationHash? {
        readStatedInstallation(&parameters).hash
    }

    /// The installation of the path. The header and the body, if they name one, must be equal.
    func readInstallation(_ json: inout JSONReader, _ parameters: inout ParameterReader) -> InstallationHash? {
        var installation = readStatedInstallation(&parameters)
        let stated = json.optionalString("installationId", InstallationID.init)
        installation.add(stated, named: "installationId", &parameters)
        return installation.hash
    }

    private func readStatedInstallation(_ parameters: inout ParameterReader) -> StatedInstallation {
        var installation = StatedInstallation(self, &parameters)
        let id = parameters.path("installationId", InstallationID.init)
        installation.add(id, named: "installationId", &parameters)
        return installation
    }
}

extension FullState {
    /// Adds the subject to each registration. An item with a forbidden alias gets that problem, and its activity counts
    /// as present.
    fileprivate func permitted(by call: ScopedCall) -> FullState {
        let items = items.map { item in
            guard var registration = item.registration else { return item }
            do throws(Problem) {
                try call.checkAliases(registration.aliases)
            } catch {
                return item.refused(for: error)
            }
            registration.subject = call.call.principal.subject
            var permitted = Item(activityID: item.activityID, registration: registration)
            permitted.pointer = item.pointer
            return permitted
        }
        return FullState(observedAt: observedAt, items: items)
    }
}
