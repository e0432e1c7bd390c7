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
        session = URLSession(configuration: Self.configuration(timeout), delegate: NoRedirects(), delegateQueue: nil)
    }

    static func configuration(_ timeout: TimeInterval) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCredentialStorage = nil
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
        var urlRequest = URLRequest(url: request.url)
        urlRequest.httpMethod = request.method
        urlRequest.httpBody = request.body
        for (name, value) in request.fields { urlRequest.setValue(value, forHTTPHeaderField: name) }
        do {
            let (body, response) = try await session.data(for: urlRequest)
            guard let response = response as? HTTPURLResponse else { return .noAnswer("The answer was not HTTP.") }
            let fields = Dictionary(response.allHeaderFields.map { ("\($0.key)", "\($0.value)") }) { $1 }
            return .answer(TransportAnswer(status: response.statusCode, fields: fields, body: body))
        } catch {
            // An error's description may repeat the address, so its code has to do.
            return .noAnswer("\(URLError.self) \((error as? URLError)?.errorCode ?? 0)")
        }
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
