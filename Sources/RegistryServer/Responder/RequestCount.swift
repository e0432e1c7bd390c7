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
    /// Counts an admitted request.
    ///
    /// Probes are not counted; sign-ins to the console are, by network.
    ///
    /// - Throws: `RateLimited`.
    func count(_ admission: Admission) throws(RateLimited) -> RequestCount {
        guard admission.isCounted else { return RequestCount() }
        return RequestCount(count: try rateLimits.count(admission.principal, caller(of: admission)))
    }

    /// Begins a heavy call, once its body is there: callers who send slowly hold none of the limits.
    ///
    /// - Throws: `RateLimited`.
    func beginHeavyCall(_ admission: Admission, _ count: inout RequestCount) throws(RateLimited) {
        guard admission.isCounted, admission.located.isHeavy else { return }
        let place = Self.place(of: admission.located.match)
        count.heavyCall = try heavyCalls.countCall(admission.principal, caller(of: admission), in: place)
    }

    private func caller(of admission: Admission) -> Caller {
        var caller = Caller(network: admission.network)
        if admission.located.isHeavy || admission.principal.isPublishableKey {
            caller.installation = Self.installation(of: admission.located.match, admission.fields)
        }
        return caller
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

extension Admission {
    fileprivate var isCounted: Bool { route.access != .everyone || route.body == .form }
}
