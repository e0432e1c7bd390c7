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
        let subject = call.principal.subject
        let answer = try await registry.apply(state.readable.stated(by: subject), of: hash, in: scope, by: who)
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
    /// The same state, each item with the subject that registers it.
    fileprivate func stated(by subject: String?) -> FullState {
        guard let subject else { return self }
        let items = items.map { item in
            guard var registration = item.registration else { return item }
            registration.subject = subject
            return Item(activityID: item.activityID, registration: registration)
        }
        return FullState(observedAt: observedAt, items: items)
    }
}
