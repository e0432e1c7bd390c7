import Foundation
import RegistryClientTestSupport
import Testing

@testable import RegistryClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// C19: a session that leaves nothing behind.
@Suite struct TransportTests {
    @Test("The session has no cache, no cookies and no stored credentials") func nothingIsKept() {
        let configuration = URLSessionTransport.configuration(5)
        #expect(configuration.urlCache == nil)
        #expect(configuration.httpCookieStorage == nil)
        #expect(!configuration.httpShouldSetCookies)
        #expect(configuration.urlCredentialStorage == nil)
        #expect(configuration.requestCachePolicy == .reloadIgnoringLocalCacheData)
        #expect(configuration.timeoutIntervalForRequest == 5)
    }

    @Test("Without a connection the request did not leave the phone, and the words name no address")
    func nobodyAnswers() async throws {
        let url = try #require(URL(string: "http://127.0.0.1:1/installations/i-secret"))
        let request = TransportRequest(method: "PUT", url: url, fields: [:], body: Data())
        guard case .notSent(let words) = await URLSessionTransport(timeout: 5).send(request) else {
            Issue.record("it was sent")
            return
        }
        #expect(!words.contains("secret"))
    }

    #if canImport(Glibc)
        @Test("A redirect is not followed: it is an answer, and none of ours") func redirects() async throws {
            let server = RedirectingServer()
            defer { server.stop() }
            let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/v1"))
            let request = TransportRequest(method: "DELETE", url: url, fields: ["Authorization": "Bearer k"], body: nil)
            guard case .answer(let answer) = await URLSessionTransport(timeout: 5).send(request) else {
                Issue.record("nobody answered")
                return
            }
            #expect(answer.status == 307)
            #expect(Verdict(answer) == .unanswered)
            #expect(server.requests == ["DELETE /v1 HTTP/1.1"])
        }
    #endif

    @Test("Header fields are found in whatever case") func fieldsInAnyCase() {
        let answer = TransportAnswer(status: 200, fields: ["request-ID": "r"], body: Data())
        #expect(answer["Request-Id"] == "r")
        #expect(answer["Date"] == nil)
    }
}
