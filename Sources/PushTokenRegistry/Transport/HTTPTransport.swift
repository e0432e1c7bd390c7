import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct Delivery: Sendable {
    let entry: OutboxEntry
    /// The entry's owner, or the installation in place of a user.
    let authority: Owner
    /// Nil for the publishable key.
    let source: CredentialSource?
}

extension LiveActivityRegistry.Configuration {
    /// Nil without a valid credential, or if the source needs longer.
    func credential(of delivery: Delivery, within limit: Duration = .seconds(20)) async -> String? {
        guard let source = delivery.source else { return key }
        return await clock.result(within: limit) {
            do { return try await source() } catch {
                let facts = error as NSError
                log(.error, "the credential source failed: \(type(of: error)), \(facts.domain), \(facts.code)")
                return nil
            }
        } ?? nil
    }

    /// The call of an entry: the same bytes each time it is sent.
    func request(_ entry: OutboxEntry, _ installationID: String, _ credential: String) -> URLRequest {
        let (path, body) = entry.report.call(of: installationID)
        let parts = ["v1", "apps", bundleID, reportedEnvironment.rawValue] + path
        // It encodes a `/` within an id.
        var url = parts.reduce(service) { $0.appending(component: $1) }
        let observedAt = entry.observedAt.text
        if body == nil { url.append(queryItems: [URLQueryItem(name: "observedAt", value: observedAt)]) }
        if case .end(_, let isDismissal) = entry.report {
            url.append(queryItems: [URLQueryItem(name: "reason", value: isDismissal ? "dismissed" : "ended")])
        }
        var request = URLRequest(url: url)
        request.httpMethod = body == nil ? "DELETE" : "PUT"
        request.allHTTPHeaderFields = [
            "Authorization": "Bearer \(credential)", "X-Installation-Id": installationID,
            "Request-Id": "client-\(String(entry.id, radix: 16))", "User-Agent": userAgent,
        ]
        guard let body = body?.merging(["observedAt": observedAt], uniquingKeysWith: { $1 }) else { return request }
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        request.httpBody = try? JSONSerialization.data(withJSONObject: body, options: options)
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        return request
    }
}

extension Report {
    /// The path below `/v1/apps/{bundleId}/{environment}`, and the members of the body; without a body it is a DELETE.
    fileprivate func call(of installationID: String) -> (path: [String], body: [String: Any]?) {
        let base = ["installations", installationID]
        switch self {
        case .registration(let registration): return (["activities", registration.activityID], registration.json)
        case .end(let activityID, _): return (["activities", activityID], nil)
        case .startToken(let attributesType, let token): return (base + ["start-tokens", attributesType], token?.json)
        case .installationToken(let kind, let token): return (base + ["tokens", kind.rawValue], token?.json)
        case .installation(let aliases, let metadata):
            let members: [String: Any?] = ["aliases": aliases, "metadata": metadata]
            return (base, members.compactMapValues { $0 })
        case .fullState(let activities):
            let items = activities.map { $0.json.merging(["activityId": $0.activityID]) { $1 } }
            return (base + ["activities"], ["activities": items])
        case .logOut: return (base, nil)
        }
    }
}

extension PushToken {
    fileprivate var json: [String: Any] { ["token": hexadecimal] }
}

/// Sends requests to the registry. Tests supply closures of their own.
package struct HTTPTransport: Sendable {
    /// Sends a request once and returns its outcome within a time limit.
    package var send: @Sendable (URLRequest) async -> TransportResult
    /// Gives requests to the system, which sends them while the app sleeps, in place of all earlier ones (C19). They may arrive in any
    /// order, twice, or never.
    package var submitInBackground: @Sendable ([URLRequest]) async -> Void

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

    static let session = URLSession(configuration: configuration, delegate: NoRedirects(), delegateQueue: nil)

    static var configuration: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.leaveNoTraces()
        (configuration.timeoutIntervalForRequest, configuration.timeoutIntervalForResource) = (30, 30)
        return configuration
    }

    private static let withoutConnection: Set<URLError.Code> = [
        .notConnectedToInternet, .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .internationalRoamingOff,
        .dataNotAllowed, .callIsActive,
    ]
}

extension URLSessionConfiguration {
    fileprivate func leaveNoTraces() {
        (urlCache, httpCookieStorage, urlCredentialStorage) = (nil, nil, nil)
        (requestCachePolicy, httpShouldSetCookies) = (.reloadIgnoringLocalCacheData, false)
    }
}

/// Returns a redirect as the response, which then is not the registry's.
final class NoRedirects: NSObject, URLSessionTaskDelegate {
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

package enum TransportResult: Sendable {
    /// A response, be it the registry's or a captive portal's.
    case response(HTTPURLResponse, Data)
    /// No response came. The registry may have accepted the request.
    case noResponse
    /// No connection was made. The registry cannot have accepted the request, so its time may still be corrected.
    case notSent
}
