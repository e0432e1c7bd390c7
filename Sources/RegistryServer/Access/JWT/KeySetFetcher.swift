import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import RegistryCore

/// Fetches an issuer's keys without redirects, with a deadline and a size limit, and never from the operator's own
/// network, whatever the name resolves to.
struct KeySetFetcher: Sendable {
    let allowsInternal: Bool

    /// Applies to the complete fetch, and to the name lookup.
    var deadline = Duration.seconds(5)

    private static let maximumBytes = 256 * 1024

    /// Why a fetch or the parsing failed: a predicate without secrets.
    static func reason(_ error: any Error) -> String {
        switch error {
        case let reason as JSONFaultReason: reason.detail
        case is JSONSyntaxError: "is not JSON"
        case is NIOTooManyBytesError: "is longer than \(maximumBytes / 1024) KiB"
        default: "cannot be reached"
        }
    }

    @Sendable
    func fetch(_ text: String) async throws -> JSONValue {
        let url = try KeySetURL(text, allowsInternal: allowsInternal)
        let address = try await permittedAddress(of: url.host)
        // Connects to the verified address, because a second lookup can give another one.
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

    /// The HTTP client's deadline ends with the head, and a body can arrive byte by byte.
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
