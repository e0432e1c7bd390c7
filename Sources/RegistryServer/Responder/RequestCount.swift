import HTTPTypes
import RegistryCore
import RegistryStore

/// The counters held by a request from its admission to its end.
struct RequestCount: Sendable {
    fileprivate var count = RateLimits.Count()
    fileprivate var heavyCall: CountedCall?

    /// Ends the counts of the request. A heavy call ends only when its response is read, because unread responses stay
    /// in memory.
    func finish(_ response: Response) -> Response {
        var response = response
        if let quota = count.quota { response.fields.add(quota) }
        response.heavyCall = heavyCall
        return response
    }

    func giveBack() { count.giveBack() }
}

extension RegistryResponder {
    /// Probes are exempt. Sign-ins to the console count by network.
    func count(_ admission: Admission) throws(RateLimited) -> RequestCount {
        guard admission.isCounted else { return RequestCount() }
        return RequestCount(count: try rateLimits.count(admission.principal, caller(of: admission)))
    }

    /// Call it after the body arrived, so that slow senders occupy no slot.
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

    private static func installation(of match: RouteTable.Match, _ fields: HTTPFields) -> [UInt8]? {
        guard let name = match.parameters["installationId"] ?? fields[.installationID] else { return nil }
        return name.utf8.count <= Caller.longestInstallation ? Array(name.utf8) : nil
    }

    private static func place(of match: RouteTable.Match) -> String {
        "\(match.parameters["bundleId"] ?? "")/\(match.parameters["environment"] ?? "")"
    }
}

extension Admission {
    fileprivate var isCounted: Bool {
        route.access != .everyone || route.body == .form || route.template == ConsoleLink.callback
    }
}
