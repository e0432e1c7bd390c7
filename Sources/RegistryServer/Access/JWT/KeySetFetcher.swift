import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import RegistryCore

/// Fetches an issuer's keys: no redirects, a deadline for the whole, a limit of the size, and no access to the
/// operator's own network, wherever the name resolves to.
struct KeySetFetcher: Sendable {
    /// Whether loopback, private and link-local addresses are allowed.
    let allowsInternal: Bool

    /// For the whole of the keys, and for the resolution of a name.
    var deadline = Duration.seconds(5)

    private static let maximumBytes = 256 * 1024

    /// The reason that a fetch or the reading of its result failed: a sentence without a subject, with nothing secret.
    static func reason(_ error: any Error) -> String {
        switch error {
        case let reason as JSONFaultReason: reason.detail
        case is JSONSyntaxError: "is not JSON"
        case is NIOTooManyBytesError: "is longer than \(maximumBytes / 1024) KiB"
        default: "cannot be reached"
        }
    }

    /// - Throws: if the JSON is not available; ``reason(_:)`` has the words.
    @Sendable
    func fetch(_ text: String) async throws -> JSONValue {
        let url = try KeySetURL(text, allowsInternal: allowsInternal)
        let address = try await permittedAddress(of: url.host)
        // The connection uses the verified address: a name may resolve differently a moment later.
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        if IPAddress(url.host) == nil { configuration.dnsOverride = [url.host: address.description] }
        configuration.timeout = .init(connect: .seconds(3), read: .seconds(3))
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        do {
            let keys = try await inTime { try await get(url, client) }
            try? await client.shutdown()
            return keys
        } catch {
            try? await client.shutdown()
            throw error
        }
    }

    /// The client's own deadline ends with the head: a body may arrive a byte at a time.
    private func inTime(_ fetch: @escaping @Sendable () async throws -> JSONValue) async throws -> JSONValue {
        try await withThrowingTaskGroup(of: JSONValue.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await fetch() }
            group.addTask {
                try await Task.sleep(for: deadline)
                throw JSONFaultReason("did not answer in time")
            }
            return try await group.next()!
        }
    }

    private func get(_ url: KeySetURL, _ client: HTTPClient) async throws -> JSONValue {
        var request = HTTPClientRequest(url: url.text)
        request.headers.add(name: "Accept", value: "application/jwk-set+json, application/json")
        let response = try await client.execute(request, timeout: TimeAmount(deadline))
        guard !(300...399).contains(response.status.code) else {
            throw JSONFaultReason("redirects, which is not followed; use the target's URL")
        }
        guard response.status == .ok else { throw JSONFaultReason("answers with the status \(response.status.code)") }
        let body = try await response.body.collect(upTo: Self.maximumBytes)
        return try JSONParser.parse(body.readableBytesView)
    }

    private func permittedAddress(of host: String) async throws -> IPAddress {
        let addresses = try await NameLookup.addresses(of: host, within: deadline)
        guard let first = addresses.first, allowsInternal || addresses.allSatisfy(\.isPublic) else {
            throw JSONFaultReason("has a host without an address, or with one inside of the operator's network")
        }
        return first
    }
}
