import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
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

    /// A form to post, with the value of `Authorization`.
    typealias Form = (text: Secret, authorization: Secret)

    /// - Throws: if the JSON is not available; ``reason(_:)`` has the words.
    func fetch(_ text: String, posting form: Form? = nil) async throws -> JSONValue {
        let url = try KeySetURL(text, allowsInternal: allowsInternal)
        let address = try await NameLookup.address(of: url.host, within: deadline)
        guard allowsInternal || address.isPublic else {
            throw JSONFaultReason("has a host without an address, or with an address inside the operator's network")
        }
        // Connects to the verified address, because a second lookup can give another one.
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        if IPAddress(url.host) == nil { configuration.dnsOverride = [url.host: address.description] }
        configuration.timeout = .init(connect: .seconds(3))
        return try await HTTPClient.withHTTPClient(configuration: configuration) { client in
            try await inTime { try await exchange(url, form, client) }
        }
    }

    /// The HTTP client's own deadline ends with the head, and a body can arrive byte by byte.
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

    private func exchange(_ url: KeySetURL, _ form: Form?, _ client: HTTPClient) async throws -> JSONValue {
        var request = HTTPClientRequest(url: url.text)
        request.headers.add(name: "Accept", value: "application/jwk-set+json, application/json")
        if let form {
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
            request.headers.add(name: "Authorization", value: form.authorization.revealed)
            request.body = .bytes(ByteBuffer(string: form.text.revealed))
        }
        let response = try await client.execute(request, deadline: .distantFuture)
        guard !(300...399).contains(response.status.code) else {
            throw JSONFaultReason("redirects; use the target's URL")
        }
        let body = try await response.body.collect(upTo: Self.maximumBytes)
        guard response.status == .ok else {
            let word = Self.errorWord((try? JSONParser.parse(body.readableBytesView))?["error"]?.string)
            throw JSONFaultReason("responds with the status \(response.status.code)\(word)")
        }
        return try JSONParser.parse(body.readableBytesView)
    }

    /// An error code of OAuth, to follow a sentence; nothing for other texts, which could be anything.
    static func errorWord(_ text: String?) -> String {
        text.flatMap { $0.wholeMatch(of: /[a-z_]{1,40}/) == nil ? nil : " (\($0))" } ?? ""
    }
}

struct KeySetURL: Sendable {
    /// Without the brackets of IPv6, as the HTTP client looks it up.
    let host: String
    let text: String

    /// - Parameter allowsInternal: Allows all hosts, and http.
    init(_ text: String, allowsInternal: Bool) throws(JSONFaultReason) {
        guard text.utf8.count <= 2048, let url = URL(string: text), let scheme = url.scheme?.lowercased(),
            scheme == "https" || (allowsInternal && scheme == "http"), let host = url.host, !host.isEmpty
        else { throw JSONFaultReason("must be an https URL") }
        guard url.user == nil, url.password == nil else { throw JSONFaultReason("must not contain a user or password") }
        self.text = text
        self.host = host.trimmingCharacters(in: ["[", "]"])
        guard allowsInternal || !isEvidentlyInternal else {
            throw JSONFaultReason("must not point to a loopback, private or link-local address")
        }
    }

    /// `KeySetFetcher` detects names that resolve to internal addresses.
    private var isEvidentlyInternal: Bool {
        if let address = IPAddress(host) { return !address.isPublic }
        let name = (host.hasSuffix(".") ? String(host.dropLast()) : host).lowercased()
        return name == "localhost" || name.hasSuffix(".localhost") || !name.contains(".")
    }
}

/// Runs the blocking lookup of the system on its own thread.
enum NameLookup {
    static func address(of host: String, within time: Duration) async throws -> IPAddress {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.any()
        let found = eventLoop.makePromise(of: SocketAddress?.self)
        Thread.detachNewThread { found.succeed(try? SocketAddress.makeAddressResolvingHost(host, port: 0)) }
        let timer = eventLoop.scheduleTask(in: TimeAmount(time)) { found.succeed(nil) }
        defer { timer.cancel() }
        guard let address = IPAddress(try await found.futureResult.get()) else {
            throw JSONFaultReason("has a host that does not resolve")
        }
        return address
    }
}
