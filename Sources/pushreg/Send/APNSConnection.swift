import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import RegistryCore

/// The way to APNs: HTTP/2 over TLS, one JWT for all pushes.
struct APNSConnection: Sendable {
    private let address: APNSAddress
    private let authorization: Secret
    private let client: HTTPClient

    /// How long APNs may take to answer.
    private static let answerTimeout = TimeAmount.seconds(20)
    /// APNs's answers have some hundred bytes.
    private static let mostBytes = 1 << 16

    /// Lends the way to an address to `body`; nil where there is no JWT, and nothing is to be sent.
    static func lend(
        to address: APNSAddress,
        _ authorization: Secret?,
        _ body: (APNSConnection?) async throws -> Void
    ) async throws {
        guard let authorization else { return try await body(nil) }
        var tls = TLSConfiguration.makeClientConfiguration()
        if let root = address.root { tls.trustRoots = .certificates(root) }
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls,
            redirectConfiguration: .disallow,
            timeout: .init(connect: .seconds(10))
        )
        // Else the client would try for half a minute before it says that nobody is there.
        configuration.connectionPool.retryConnectionEstablishment = false
        try await HTTPClient.withHTTPClient(configuration: configuration) { client in
            try await body(APNSConnection(address: address, authorization: authorization, client: client))
        }
    }

    /// Sends a push, and sends it again where ``PushTries`` says so, by the same `apns-id`, so that APNs may tell repetitions.
    func send(_ push: Push) async throws -> PushOutcome {
        var tries = 1
        var mayHaveArrived = false
        while true {
            var outcome = await attempt(push)
            if case .unanswered(let reason, let mayHave) = outcome {
                mayHaveArrived = mayHaveArrived || mayHave
                outcome = .unanswered(reason, mayHaveArrived: mayHaveArrived)
            }
            let pause = PushTries.pause(after: outcome, tries: tries, jitter: .random(in: 0...1))
            guard let pause else { return outcome }
            Output.errors.note("\(outcome.words) Trying again in \(pause.inSeconds) s.")
            try await Task.sleep(for: pause)
            tries += 1
        }
    }

    private func attempt(_ push: Push) async -> PushOutcome {
        do {
            let response = try await client.execute(request(push), timeout: Self.answerTimeout)
            let body = try await response.body.collect(upTo: Self.mostBytes)
            let headers = Dictionary(response.headers.map { ($0.name.lowercased(), $0.value) }) { first, _ in first }
            return .answered(
                APNSAnswer(status: Int(response.status.code), headers: headers, body: body.readableBytesView)
            )
        } catch {
            return Self.outcome(of: error)
        }
    }

    private func request(_ push: Push) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: "\(address.base)/3/device/\(Hexadecimal.encode(push.token.bytes))")
        request.method = .POST
        request.headers.add(name: "authorization", value: "bearer \(authorization.revealed)")
        request.headers.add(name: "content-type", value: "application/json")
        for (name, value) in push.headers { request.headers.add(name: name, value: value) }
        request.body = .bytes(ByteBuffer(bytes: push.payload.jsonBytes))
        return request
    }

    // Not the error's own description, which may name what was sent.
    private static func outcome(of error: any Error) -> PushOutcome {
        switch error {
        case let error as IOError where [ECONNREFUSED, ENETUNREACH, EHOSTUNREACH].contains(error.errnoCode):
            .unanswered(String(cString: strerror(error.errnoCode)) + ".", mayHaveArrived: false)
        case is NIOConnectionError: .unanswered("No connection could be made to its address.", mayHaveArrived: false)
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            .unanswered(
                "The TLS handshake failed: its certificate is not trusted here, or it speaks no TLS.",
                mayHaveArrived: false
            )
        case let error as HTTPClientError where error == .connectTimeout || error == .tlsHandshakeTimeout:
            .unanswered("No connection came about in time.", mayHaveArrived: false)
        case let error as HTTPClientError where error == .deadlineExceeded || error == .readTimeout:
            .unanswered("No answer came in time.", mayHaveArrived: true)
        default: .unanswered("The connection was lost before an answer came.", mayHaveArrived: true)
        }
    }
}

extension PushOutcome {
    /// The outcome as a sentence.
    var words: String {
        switch self {
        case .answered(let answer): "APNs answered \(answer.words)."
        case .unanswered(let reason, _): reason
        }
    }
}

extension Duration {
    /// With one digit after the point.
    fileprivate var inSeconds: String { String(format: "%.1f", self / .seconds(1)) }
}
