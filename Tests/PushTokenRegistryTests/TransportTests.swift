import Foundation
import PushTokenRegistryTestSupport
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

    #if canImport(Glibc)
        @Test func `A redirect is not followed and does not count as the registry's response`() async throws {
            let server = RedirectingServer()
            defer { server.stop() }
            let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/v1"))
            var request = URLRequest(url: url)
            (request.httpMethod, request.allHTTPHeaderFields) = ("DELETE", ["Authorization": "Bearer k"])
            let result = await HTTPTransport.urlSession.send(request)
            guard case .response(let answer, _) = result else {
                Issue.record("nobody answered")
                return
            }
            #expect(answer.statusCode == 307)
            #expect(ResponseClass(result) == .none)
            #expect(server.requests == ["DELETE /v1 HTTP/1.1"])
        }
    #endif
}
