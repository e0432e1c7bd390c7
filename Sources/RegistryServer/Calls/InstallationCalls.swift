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
        return .json { json in
            json.member("results", state.results(answer))
            json.member("ended", answer.ended.map(\.rawValue))
        }
    }

    private func readInstallation(_ json: inout JSONReader, _ parameters: inout ParameterReader) -> InstallationHash? {
        var installation = InstallationStatement(self, &parameters)
        let id = parameters.path("installationId", InstallationID.init)
        installation.add(id, named: "installationId", &parameters)
        let stated = json.optionalString("installationId", InstallationID.init)
        installation.add(stated, named: "installationId", &parameters)
        return installation.hash
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
