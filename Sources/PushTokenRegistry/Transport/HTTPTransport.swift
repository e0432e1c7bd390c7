import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Sends requests to the registry. Tests supply closures of their own.
package struct HTTPTransport: Sendable {
    /// Sends a request once and returns its outcome within a time limit.
    package var send: @Sendable (URLRequest) async -> TransportResult
    /// Gives requests to the system, which sends them while the app sleeps, in place of all earlier ones (C19). They may arrive in any
    /// order, twice, or never.
    package var submitInBackground: @Sendable ([URLRequest]) async -> Void

    package init(
        send: @escaping @Sendable (URLRequest) async -> TransportResult,
        submitInBackground: @escaping @Sendable ([URLRequest]) async -> Void
    ) { (self.send, self.submitInBackground) = (send, submitInBackground) }
}

/// The outcome of sending a request once.
package enum TransportResult: Sendable {
    /// A response, be it the registry's or a captive portal's.
    case response(HTTPURLResponse, Data)
    /// No response came. The registry may have accepted the request.
    case noResponse
    /// No connection was made. The registry cannot have accepted the request, so its time may still be corrected.
    case notSent
}

extension HTTPTransport {
    /// `URLSession` without cache, cookies and redirects (C19): `URLCache` has written tokens to disk, and a redirect would take the
    /// credential to another host.
    package static let urlSession = HTTPTransport(
        send: { request in
            do {
                let (body, response) = try await session.data(for: request)
                return (response as? HTTPURLResponse).map { .response($0, body) } ?? .noResponse
            } catch {
                let code = (error as? URLError)?.code
                return code.map(withoutConnection.contains) ?? false ? .notSent : .noResponse
            }
        },
        submitInBackground: { requests in
            #if os(iOS)
                await BackgroundUploads.submit(requests)
            #endif
        }
    )

    private static let session = URLSession(configuration: configuration, delegate: NoRedirects(), delegateQueue: nil)

    static var configuration: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.leaveNoTraces()
        (configuration.timeoutIntervalForRequest, configuration.timeoutIntervalForResource) = (30, 30)
        return configuration
    }

    /// The errors of requests without a connection.
    private static let withoutConnection: Set<URLError.Code> = [
        .notConnectedToInternet, .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .internationalRoamingOff,
        .dataNotAllowed, .callIsActive,
    ]
}

extension URLSessionConfiguration {
    fileprivate func leaveNoTraces() {
        urlCache = nil
        requestCachePolicy = .reloadIgnoringLocalCacheData
        httpCookieStorage = nil
        httpShouldSetCookies = false
        urlCredentialStorage = nil
    }
}

/// Returns a redirect as the response, which then is not the registry's.
private final class NoRedirects: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) { completionHandler(nil) }
}

#if os(iOS)
    /// The background session. The system sends its requests while the app sleeps or is dead (C19). The client does not
    /// read the responses.
    ///
    /// An app has one, because two sessions must not share an identifier. Such a session follows redirects without
    /// asking, so it gets HTTPS requests only: nothing between the phone and the registry can redirect those.
    private enum BackgroundUploads {
        private static let session: URLSession = {
            let name = "\(Bundle.main.bundleIdentifier ?? "").push-token-registry"
            let configuration = URLSessionConfiguration.background(withIdentifier: name)
            configuration.leaveNoTraces()
            configuration.timeoutIntervalForResource = 2 * 3600
            configuration.sessionSendsLaunchEvents = false
            return URLSession(configuration: configuration)
        }()
        private static let folder = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first?
            .appendingPathComponent("push-token-registry")

        static func submit(_ requests: [URLRequest]) async {
            guard let folder, !requests.isEmpty || FileManager.default.fileExists(atPath: folder.path) else { return }
            // The session calls back one at a time, in order.
            await withCheckedContinuation { continuation in
                session.getAllTasks { tasks in
                    for task in tasks { task.cancel() }
                    try? FileManager.default.removeItem(at: folder)
                    try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                    for (index, request) in requests.enumerated() where request.url?.scheme == "https" {
                        begin(request, folder.appendingPathComponent("\(index).json"))
                    }
                    if requests.isEmpty { try? FileManager.default.removeItem(at: folder) }
                    continuation.resume()
                }
            }
        }

        /// Such a session has no other tasks than uploads from files, with a body, and downloads, without one.
        private static func begin(_ request: URLRequest, _ file: URL) {
            guard let body = request.httpBody else { return session.downloadTask(with: request).resume() }
            var request = request
            request.httpBody = nil
            let options: Data.WritingOptions = .completeFileProtectionUntilFirstUserAuthentication
            guard (try? body.write(to: file, options: options)) != nil else { return }
            session.uploadTask(with: request, fromFile: file).resume()
        }
    }
#endif
