import HTTPTypes
import Logging
import RegistryCore

// The only conversion of errors to responses.

extension Response {
    /// An RFC 9457 response without internal details.
    init(_ error: any Error, requestID: String, logger: @autoclosure () -> Logger) {
        self.init(Problem(error, logger: logger()), requestID: requestID)
        addFields(of: error)
    }

    init(_ problem: Problem, requestID: String) {
        var json = JSONWriter(reservingCapacity: 512)
        problem.encode(to: &json, requestID: requestID)
        self.init(
            status: HTTPResponse.Status(code: problem.code.status),
            fields: problem.fields,
            body: .bytes(json.bytes),
            requestID: requestID
        )
    }

    /// Adds fields that the problem itself does not have.
    mutating func addFields(of error: any Error) {
        if let error = error as? MethodNotAllowed {
            fields[.allow] = error.allowed.map(\.rawValue).joined(separator: ", ")
        }
        if let error = error as? RateLimited { fields.add(error.quota) }
        if error is BodyBudgetIsSpent { fields[.connection] = "close" }
    }
}

extension Problem {
    /// Logs unexpected errors and converts them to `internal-error`.
    init(_ error: any Error, logger: @autoclosure () -> Logger) {
        switch error {
        case let problem as Problem: self = problem
        case let error as JSONSyntaxError: self.init(.malformedJSON, "The body is not JSON. \(error)")
        case let error as RateLimited: self = error.problem
        case let error as BodyBudgetIsSpent: self = error.problem
        case is MethodNotAllowed: self.init(.methodNotAllowed, "This path exists, but not with this method.")
        case is CancellationError:
            self.init(.unavailable, "The service is stopping. Send the same request again.")
        default:
            logger().error("A request failed: \(error)")
            self.init(.internalError, "The service failed. Its log has the cause under this requestId.")
        }
    }

    fileprivate var fields: HTTPFields {
        var fields: HTTPFields = [.contentType: MediaType.problem]
        switch code {
        case .unauthenticated: fields[.wwwAuthenticate] = "Bearer"
        case .unavailable, .tooManyRequests: fields[.retryAfter] = String(retryAfterSeconds)
        // The rest of the body still arrives, so the caller must not reuse the connection.
        case .bodyTooLarge, .malformedRequest, .headersTooLarge, .requestTimeout: fields[.connection] = "close"
        default: break
        }
        return fields
    }

    private var retryAfterSeconds: Int64 {
        let (seconds, attoseconds) = (retryAfter ?? .seconds(1)).components
        return max(1, seconds + (attoseconds > 0 ? 1 : 0))
    }
}

extension HTTPFields {
    mutating func add(_ quota: RateLimiter.QuotaState) {
        self[.rateLimitPolicy] = quota.rule.field
        self[.rateLimit] = quota.field
    }
}

extension HTTPField.Name {
    fileprivate static let rateLimitPolicy = HTTPField.Name("RateLimit-Policy")!
    static let rateLimit = HTTPField.Name("RateLimit")!
}

/// Faults of framing. They are found before all others.
extension Problem {
    static let noHost = Problem(.malformedRequest, "The request has no Host field. Send the name of the service.")
    static let badHost = Problem(
        .malformedRequest,
        "The request's Host must be one field with a name or an address, and optionally a port."
    )
    static let badField = Problem(
        .malformedRequest,
        "The request has a field, a method or a path that HTTP does not allow."
    )
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
        guard let host = authority ?? hosts.first else { return .noHost }
        let isOne = hosts.count <= 1 && (hosts.isEmpty || hosts[0] == host)
        return isOne && HostField.isValid(host) ? nil : .badHost
    }
}

extension HTTPField.Name {
    /// Replaced by `:authority` and `HTTPRequest.authority`.
    fileprivate static let hostField = HTTPField.Name("host")!
}
