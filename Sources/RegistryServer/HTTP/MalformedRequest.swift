import HTTPTypes
import RegistryCore

/// A request with invalid framing. Rejected before all other checks.
struct MalformedRequest: Error {
    let problem: Problem

    static let noHost = MalformedRequest("The request has no Host field. Send the name of the service.")
    static let badHost = MalformedRequest(
        "The request's Host must be one field with a name or an address, and optionally a port."
    )

    static let badField = MalformedRequest("The request has a field, a method or a path that HTTP does not allow.")

    init(_ problem: Problem) { self.problem = problem }
    private init(_ detail: String) { problem = Problem(.malformedRequest, detail) }
}

extension Problem {
    static let malformedRequest = Problem(.malformedRequest, "The request is not valid HTTP/1.1.")
    static let headersTooLarge = Problem(
        .headersTooLarge,
        "The request has too many header fields, or a header field or its path is too long."
    )
    static let requestTimeout = Problem(
        .requestTimeout,
        "The request was not complete in time. Send the same request again."
    )
}

extension HTTPRequest {
    /// Faults of HTTP/2 requests that NIO accepts.
    func streamFault(mostFields: Int) -> Problem? {
        if headerFields.count > mostFields { return .headersTooLarge }
        let hosts = headerFields[values: .hostField]
        guard let host = authority ?? hosts.first else { return MalformedRequest.noHost.problem }
        let isOne = hosts.count <= 1 && (hosts.isEmpty || hosts[0] == host)
        return isOne && HostField.isValid(host) ? nil : MalformedRequest.badHost.problem
    }
}

extension HTTPField.Name {
    /// Replaced by `:authority` and `HTTPRequest.authority`.
    fileprivate static let hostField = HTTPField.Name("host")!
}
