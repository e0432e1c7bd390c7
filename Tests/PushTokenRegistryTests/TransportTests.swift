import Foundation
import Testing

@testable import PushTokenRegistry

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite struct TransportTests {
    @Test func `The session has no cache, no cookies and no stored credentials`() {
        let configuration = HTTPTransport.configuration
        #expect(configuration.urlCache == nil)
        #expect(configuration.httpCookieStorage == nil)
        #expect(!configuration.httpShouldSetCookies)
        #expect(configuration.urlCredentialStorage == nil)
        #expect(configuration.requestCachePolicy == .reloadIgnoringLocalCacheData)
        #expect(configuration.timeoutIntervalForRequest == 30)
    }

    @Test func `A request without a connection counts as not sent`() async throws {
        let url = try #require(URL(string: "http://127.0.0.1:1/installations/i-1"))
        guard case .notSent = await HTTPTransport.urlSession.send(URLRequest(url: url)) else {
            Issue.record("it was sent")
            return
        }
    }

    @Test func `A redirect is not followed`() async throws {
        let session = HTTPTransport.session
        let delegate = try #require(session.delegate as? NoRedirects)
        let url = try #require(URL(string: "http://127.0.0.1:1/v1"))
        let response = try #require(HTTPURLResponse(url: url, statusCode: 307, httpVersion: nil, headerFields: nil))
        let (task, request) = (session.dataTask(with: url), URLRequest(url: url))
        let next = await withCheckedContinuation { next in
            delegate.urlSession(session, task: task, willPerformHTTPRedirection: response, newRequest: request) {
                next.resume(returning: $0)
            }
        }
        #expect(next == nil)
    }
}
