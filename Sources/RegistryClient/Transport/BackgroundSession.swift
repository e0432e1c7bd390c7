#if os(iOS)
    import Foundation

    /// The session whose requests the system sends, though the app sleeps or is dead (C19). Nobody hears the answers.
    ///
    /// It is one for the app: two sessions with one name are none. `URLSession` follows redirects in such a session without a
    /// question, so nothing goes there but by HTTPS, where nobody between the phone and the registry can send one.
    enum BackgroundSession {
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

        /// Takes requests in the place of all that it had before.
        static func take(_ requests: [TransportRequest]) async {
            guard let folder, !requests.isEmpty || FileManager.default.fileExists(atPath: folder.path) else { return }
            // One call at a time is answered, in their order.
            await withCheckedContinuation { continuation in
                session.getAllTasks { tasks in
                    for task in tasks { task.cancel() }
                    try? FileManager.default.removeItem(at: folder)
                    try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                    for (index, request) in requests.enumerated() where request.url.scheme == "https" {
                        begin(request, folder.appendingPathComponent("\(index).json"))
                    }
                    if requests.isEmpty { try? FileManager.default.removeItem(at: folder) }
                    continuation.resume()
                }
            }
        }

        /// An upload has a body, and a download none: such a session knows no other tasks.
        private static func begin(_ request: TransportRequest, _ file: URL) {
            guard let body = request.body else { return session.downloadTask(with: request.urlRequest).resume() }
            let options: Data.WritingOptions = .completeFileProtectionUntilFirstUserAuthentication
            guard (try? body.write(to: file, options: options)) != nil else { return }
            session.uploadTask(with: request.urlRequest, fromFile: file).resume()
        }
    }
#endif
