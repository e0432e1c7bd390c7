import HTTPTypes
import RegistryCore
import RegistryStore

extension ScopedCall {
    func applyFullState() async throws -> Response {
        var parameters = ParameterReader(call)
        let (installation, body) = parameters.body { json, parameters in
            (readInstallation(&json, &parameters), FullStateBody.read(&json))
        }
        let (state, hash) = try parameters.checked(body, installation)
        let permitted = state.readable.permitted(by: self)
        let claimant = try findClaimant(hash)
        let result = try await registry.apply(permitted, of: hash, in: scope, by: who, claimant: claimant)
        for item in result.results { registrations.count(item, of: .update) }
        return .json { json in
            json.member("results", state.results(result))
            json.member("ended", result.ended.map(\.rawValue))
        }
    }

    func putInstallation() async throws -> Response {
        var parameters = ParameterReader(call)
        let (installation, profile) = parameters.body { json, parameters in
            (readInstallation(&json, &parameters), InstallationProfile(from: &json))
        }
        let hash = try parameters.checked(installation)
        try checkAliases(profile.aliases)
        let claimant = try findClaimant(hash)
        let result = try await registry.put(profile, for: hash, in: scope, by: who, claimant: claimant)
        return .json(result.isNew ? .created : .ok, result)
    }

    /// Without complete tokens.
    func readInstallationRecord() async throws -> Response {
        let installation = try read { readInstallation(&$0) }
        guard let record = try await registry.installation(installation, in: scope) else {
            throw Problem(.installationNotFound, "The installation is unknown in this app and environment.")
        }
        return .json(.ok, record)
    }

    func logOut() async throws -> Response {
        var parameters = ParameterReader(call)
        let candidate = readInstallation(&parameters)
        let observedAt = parameters.time("observedAt")
        let installation = try parameters.checked(candidate)
        let claimant = try findClaimant(installation)
        try await registry.logOut(installation, observedAt: observedAt, in: scope, by: who, claimant: claimant)
        return .noContent
    }
}

extension ScopedCall {
    func readInstallation(_ json: inout JSONReader, _ parameters: inout ParameterReader) -> InstallationHash? {
        let stated = json.optionalString("installationId", InstallationID.init)
        return readInstallation(&parameters, inBody: stated)
    }

    /// The installation that the header, the path and the body name. They must agree.
    func readInstallation(
        _ parameters: inout ParameterReader,
        isInPath: Bool = true,
        inBody stated: InstallationID? = nil
    ) -> InstallationHash? {
        var found: InstallationHash?
        func add(_ id: InstallationID?) {
            guard let id else { return }
            let hash = InstallationHash(of: id, in: scope.app.bundleID)
            if let found, found != hash {
                let detail = "differs from another value in the request"
                parameters.add([JSONFault(pointer: "/installationId", detail: detail)])
            }
            found = found ?? hash
        }
        add(parameters.field(.installationID, InstallationID.init))
        if isInPath { add(parameters.path("installationId", InstallationID.init)) }
        add(stated)
        return found
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
