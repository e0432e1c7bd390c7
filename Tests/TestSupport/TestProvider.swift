import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import RegistryCore
import Synchronization

/// An identity provider that follows OpenID Connect Core 1.0, Discovery 1.0 and RFC 7636, and can also misbehave.
package final class TestProvider: Sendable {
    package struct Behaviour: Sendable {
        /// Additional members of the ID token; null removes a member.
        package var claims: JSONObject = ["groups": ["push-admins"]]
        /// Additional members of the discovery document; null removes a member.
        package var document: JSONObject = [:]
        /// Paths that never get a response.
        package var silentPaths: Set<String> = []
        /// Whether the provider accepts a code without PKCE, as old providers do.
        package var neglectsPKCE = false
        package var signsWithAnotherKey = false
        /// The error in the redirect to the console.
        package var error: String?
    }

    private struct Grant {
        let query: [String: String]
        var isUsed = false
    }

    package static let clientID = "pushreg console"
    /// Contains characters that a form must encode.
    package static let clientSecret = "a+b/c=d:0123456789abcdef"

    private let behaviour = Mutex(Behaviour())
    package let port: Int
    private let grants = Mutex<[String: Grant]>([:])
    private let requests = Mutex<[String]>([])
    private let server: any Channel

    package var issuer: String { "http://127.0.0.1:\(port)" }
    /// Method, path and query or form of each request.
    package var received: [String] { requests.withLock(\.self) }

    private init(_ server: any Channel, port: Int) { (self.server, self.port) = (server, port) }

    package static func run(_ body: (TestProvider) async throws -> Void) async throws {
        let providers = Mutex<TestProvider?>(nil)
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(NIOHTTPServerRequestAggregator(maxContentLength: 1 << 20))
                    try pipeline.addHandler(Handler { request in providers.withLock(\.self)?.answer(request) })
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let provider = TestProvider(server, port: server.localAddress?.port ?? 0)
        providers.withLock { $0 = provider }
        try await perform({ try await body(provider) }, andThen: { try await server.close() })
    }

    package func change(_ body: (inout Behaviour) -> Void) { behaviour.withLock { body(&$0) } }

    fileprivate struct Answer {
        var status = HTTPResponseStatus.ok
        var fields: HTTPHeaders = ["Content-Type": "application/json", "Connection": "close"]
        var text = ""

        static func json(_ value: JSONValue, _ status: HTTPResponseStatus = .ok) -> Answer {
            Answer(status: status, text: value.description)
        }
    }

    /// Nil if the provider does not respond.
    private func answer(_ request: NIOHTTPServerRequestFull) -> Answer? {
        let (head, form) = (request.head, request.body.map { String(buffer: $0) } ?? "")
        let authorization = head.headers.first(name: "Authorization")
        let parts = head.uri.split(separator: "?", maxSplits: 1).map(String.init)
        let (path, text) = (parts[0], head.method == .POST ? form : parts.dropFirst().first ?? "")
        requests.withLock { $0.append("\(head.method) \(path) \(text)") }
        let behaviour = behaviour.withLock(\.self)
        guard !behaviour.silentPaths.contains(path) else { return nil }
        switch path {
        case "/.well-known/openid-configuration": return .json(.object(document(behaviour)))
        case "/keys": return .json(["keys": [.object(TestIssuer.honest.publicKey(.ec))]])
        case "/authorize": return authorize(Self.fields(text), behaviour)
        case "/token": return token(Self.fields(text), authorization, behaviour)
        default: return .json(["error": "not_found"], .notFound)
        }
    }

    private func document(_ behaviour: Behaviour) -> JSONObject {
        let usual: JSONObject = [
            "issuer": .string(issuer), "authorization_endpoint": .string(issuer + "/authorize"),
            "token_endpoint": .string(issuer + "/token"), "jwks_uri": .string(issuer + "/keys"),
            "response_types_supported": ["code"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"], "scopes_supported": ["openid", "email", "groups"],
            "code_challenge_methods_supported": ["S256"], "authorization_response_iss_parameter_supported": true,
        ]
        return usual.overlaid(by: behaviour.document)
    }

    private func authorize(_ query: [String: String], _ behaviour: Behaviour) -> Answer {
        let hasChallenge = query["code_challenge_method"] == "S256" && query["code_challenge"]?.utf8.count == 43
        guard query["response_type"] == "code", query["client_id"] == Self.clientID, let back = query["redirect_uri"],
            query["scope"]?.split(separator: " ").contains("openid") == true,
            hasChallenge || behaviour.neglectsPKCE
        else { return .json(["error": "invalid_request"], .badRequest) }
        let code = UUID().uuidString
        grants.withLock { $0[code] = Grant(query: query) }
        var answer = "\(back)?state=\(Self.encoded(query["state"] ?? ""))&iss=\(Self.encoded(issuer))"
        answer += behaviour.error.map { "&error=\($0)" } ?? "&code=\(code)"
        return Answer(status: .found, fields: ["Location": answer, "Connection": "close"])
    }

    private func token(_ form: [String: String], _ authorization: String?, _ behaviour: Behaviour) -> Answer {
        let pair = [Self.clientID, Self.clientSecret].map(Self.encoded).joined(separator: ":")
        guard authorization == "Basic \(Data(pair.utf8).base64EncodedString())" else {
            return .json(["error": "invalid_client"], .unauthorized)
        }
        let grant = grants.withLock { grants in
            let grant = grants[form["code"] ?? ""]
            grants[form["code"] ?? ""]?.isUsed = true
            return grant
        }
        guard let grant, !grant.isUsed, form["grant_type"] == "authorization_code",
            form["redirect_uri"] == grant.query["redirect_uri"],
            behaviour.neglectsPKCE || Self.challenge(form["code_verifier"] ?? "") == grant.query["code_challenge"]
        else { return .json(["error": "invalid_grant"], .badRequest) }
        let token = idToken(nonce: grant.query["nonce"] ?? "", behaviour)
        return .json(["access_token": "a", "token_type": "Bearer", "id_token": .string(token)])
    }

    private func idToken(nonce: String, _ behaviour: Behaviour) -> String {
        let now = Date()
        var claims: JSONObject = [
            "iss": .string(issuer), "aud": .string(Self.clientID), "sub": "2481", "email": "jane@example.com",
            "email_verified": true, "nonce": .string(nonce), "exp": .integer(Int64(now.timeIntervalSince1970) + 300),
        ]
        for member in behaviour.claims { claims[member.key] = member.value }
        let signer = behaviour.signsWithAnotherKey ? TestIssuer.stranger : TestIssuer.honest
        return signer.token(claims: claims, at: now)
    }

    package static func challenge(_ verifier: String) -> String {
        Base64URL.encode(Array(SHA256.hash(data: Data(verifier.utf8))))
    }

    private static func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(["-", ".", "_", "~"])) ?? ""
    }

    /// The fields of a query or form.
    package static func fields(_ text: String) -> [String: String] {
        let items = URLComponents(string: "?" + text)?.queryItems ?? []
        return Dictionary(items.map { ($0.name, $0.value ?? "") }) { $1 }
    }
}

private final class Handler: ChannelInboundHandler {
    typealias InboundIn = NIOHTTPServerRequestFull
    typealias OutboundOut = HTTPServerResponsePart

    private let answer: (NIOHTTPServerRequestFull) -> TestProvider.Answer?

    init(_ answer: @escaping (NIOHTTPServerRequestFull) -> TestProvider.Answer?) { self.answer = answer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let answer = answer(unwrapInboundIn(data)) else { return }
        var fields = answer.fields
        fields.add(name: "Content-Length", value: "\(answer.text.utf8.count)")
        let response = HTTPResponseHead(version: .http1_1, status: answer.status, headers: fields)
        context.write(wrapOutboundOut(.head(response)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: answer.text)))), promise: nil)
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in channel.close(promise: nil) }
    }
}
