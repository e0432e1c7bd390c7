import HTTPTypes
import RegistryCore
import RegistryStore

/// The counts of a request from its admission to its end.
struct RequestCount: Sendable {
    fileprivate var count = RateLimits.Count()
    /// Nil for calls that are not heavy.
    fileprivate var heavyCall: CountedCall?

    /// Ends the request, except a heavy call, which ends when its response is read: unread responses stay in memory.
    func finish(_ response: Response) -> Response {
        var response = response
        if let quota = count.quota { response.fields.add(quota) }
        response.heavyCall = heavyCall
        return response
    }

    func giveBack() { count.giveBack() }
}

extension RegistryResponder {
    /// Counts an admitted request, and heavy calls.
    ///
    /// Probes are not counted; sign-ins to the console are, by network.
    ///
    /// - Throws: `RateLimited`.
    func count(_ admission: Admission) throws(RateLimited) -> RequestCount {
        let (match, route) = (admission.located.match, admission.route)
        guard route.access != .everyone || route.body == .form else { return RequestCount() }
        let (principal, isHeavy) = (admission.principal, admission.located.isHeavy)
        var caller = Caller(network: admission.network)
        if isHeavy || principal.isPublishableKey {
            caller.installation = Self.installation(of: match, admission.fields)
        }
        let count = try rateLimits.count(principal, caller)
        guard isHeavy else { return RequestCount(count: count) }
        do throws(RateLimited) {
            let heavyCall = try heavyCalls.begin(principal, caller, in: Self.place(of: match))
            return RequestCount(count: count, heavyCall: heavyCall)
        } catch {
            count.giveBack()
            throw error
        }
    }

    /// The installation named by the path or the header, if valid.
    private static func installation(of match: RouteTable.Match, _ fields: HTTPFields) -> [UInt8]? {
        guard let name = match.parameters["installationId"] ?? fields[.installationID] else { return nil }
        return name.utf8.count <= Caller.longestInstallation ? Array(name.utf8) : nil
    }

    private static func place(of match: RouteTable.Match) -> String {
        "\(match.parameters["bundleId"] ?? "")/\(match.parameters["environment"] ?? "")"
    }
}
