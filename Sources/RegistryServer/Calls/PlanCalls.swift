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
            json.writeNextCursor(page.next, of: Self.list(of: request), in: scope)
        }
    }

    /// For a sender that did not use its lease.
    func releaseLease() async throws -> Response {
        try await registry.release(read { $0.path("leaseId", LeaseID.init) }, in: scope, by: who)
        return .noContent
    }

    private static func list(of request: PlanRequest) -> [String] {
        ([request.alias] + request.to).flatMap { $0.list("plan") }
    }

    private func readPosition(of request: PlanRequest) throws(Problem) -> ListPosition {
        guard let text = request.cursor else { return .start }
        do throws(JSONFaultReason) {
            let title = "a plan for this alias and these recipients"
            return try ListPosition(cursor: text, of: Self.list(of: request), in: scope, title)
        } catch {
            throw .invalidCursor(of: "plan", [JSONFault(pointer: "/cursor", detail: error.detail)])
        }
    }
}
