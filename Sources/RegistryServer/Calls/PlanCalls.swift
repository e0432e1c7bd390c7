import RegistryCore
import RegistryStore

extension ScopedCall {
    func plan() async throws -> Response {
        let longestLease = scope.app.settings.activityLifetime
        var parameters = ParameterReader(call)
        let includesMetadata = readInclusion(&parameters)
        var request = try call.readChecked { PlanRequest.read(&$0, longestLease: longestLease) }
        request.includesMetadata = try parameters.checked(includesMetadata)
        let position = try readPosition(of: request)
        let page = try await registry.plan(request, after: position, in: scope, by: who)
        return .json { json in
            json.writeAddress(of: request.alias, in: scope)
            json.member("channels", page.channels)
            json.array("installations") { json in
                for entry in page.entries { entry.encode(to: &json, in: scope.app.bundleID) }
            }
            json.member("nextCursor", ifPresent: page.next.map { Cursor.encode(after: $0, of: request, in: scope) })
        }
    }

    /// For a sender that did not use its lease.
    func releaseLease() async throws -> Response {
        var parameters = ParameterReader(call)
        let id = parameters.path("leaseId", LeaseID.init)
        try await registry.release(parameters.checked(id), in: scope, by: who)
        return .noContent
    }

    private func readPosition(of request: PlanRequest) throws(Problem) -> PlanPosition {
        guard let text = request.cursor else { return .start }
        do throws(JSONFaultReason) {
            return try Cursor.decode(text, of: request, in: scope)
        } catch {
            var problem = Problem(.invalidCursor, "The cursor does not belong to this plan. Start without a cursor.")
            problem.errors = [JSONFault(pointer: "/cursor", detail: error.detail)]
            throw problem
        }
    }
}
