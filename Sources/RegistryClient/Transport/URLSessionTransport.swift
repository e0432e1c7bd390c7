import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// `URLSession` that leaves nothing on the phone and goes nowhere else (C19): no cache, no cookies, no redirects.
///
/// `URLCache` has written tokens to disk in clear, and a redirect would take the credential to another host.
public struct URLSessionTransport: Transport {
    private let session: URLSession

    /// Makes a session of its own.
    ///
    /// - Parameter timeout: in seconds, for each request.
    public init(timeout: TimeInterval = 30) {
        session = URLSession(
            configuration: Self.configuration(timeout),
            delegate: NoRedirects(),
            delegateQueue: nil
        )
    }

    static func configuration(_ timeout: TimeInterval) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.leaveNoTraces()
        configuration.timeoutIntervalForRequest = timeout
        configuration.timeoutIntervalForResource = timeout
        #if canImport(Darwin)
            // The outbox waits, and knows since when.
            configuration.waitsForConnectivity = false
        #endif
        return configuration
    }

    /// Sends a request once.
    public func send(_ request: TransportRequest) async -> TransportResult {
        var urlRequest = request.urlRequest
        urlRequest.httpBody = request.body
        do {
            let (body, response) = try await session.data(for: urlRequest)
            guard let response = response as? HTTPURLResponse else { return .noAnswer("The answer was not HTTP.") }
            let fields = Dictionary(response.allHeaderFields.map { ("\($0.key)", "\($0.value)") }) { $1 }
            return .answer(TransportAnswer(status: response.statusCode, fields: fields, body: body))
        } catch {
            // An error's description may repeat the address, so its code has to do.
            let code = (error as? URLError)?.code
            let words = "\(URLError.self) \(code?.rawValue ?? 0)"
            return code.map(Self.withoutConnection.contains) ?? false ? .notSent(words) : .noAnswer(words)
        }
    }

    /// The errors of a request for which no connection was made.
    private static let withoutConnection: Set<URLError.Code> = [
        .notConnectedToInternet, .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .internationalRoamingOff,
        .dataNotAllowed, .callIsActive,
    ]

    #if os(iOS)
        /// Gives requests to a background session.
        public func handOver(_ requests: [TransportRequest]) async { await BackgroundSession.take(requests) }
    #endif
}

extension URLSessionConfiguration {
    /// No cache, no cookies.
    func leaveNoTraces() {
        urlCache = nil
        requestCachePolicy = .reloadIgnoringLocalCacheData
        httpCookieStorage = nil
        httpShouldSetCookies = false
        urlCredentialStorage = nil
    }
}

extension TransportRequest {
    /// The same without its body.
    var urlRequest: URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.allHTTPHeaderFields = fields
        return request
    }
}

/// A redirect is handed back as the answer, which is none of ours.
private final class NoRedirects: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) { completionHandler(nil) }
}
