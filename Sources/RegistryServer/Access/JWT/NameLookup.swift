import Foundation
import RegistryCore

/// Runs the blocking lookup of the system on its own thread.
enum NameLookup {
    static func addresses(of host: String, within time: Duration) async throws -> [IPAddress] {
        let (results, continuation) = AsyncStream.makeStream(of: [IPAddress].self, bufferingPolicy: .bufferingOldest(1))
        Thread.detachNewThread {
            continuation.yield(lookUp(host))
            continuation.finish()
        }
        let timer = Task {
            try await Task.sleep(for: time)
            continuation.finish()
        }
        defer { timer.cancel() }
        guard let addresses = await results.first(where: { _ in true }), !addresses.isEmpty else {
            throw JSONFaultReason("has a host that does not resolve")
        }
        return addresses
    }

    private static func lookUp(_ host: String) -> [IPAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        return sequence(first: list) { $0?.pointee.ai_next }.prefix { $0 != nil }.compactMap { $0?.pointee.address }
    }
}

extension addrinfo {
    fileprivate var address: IPAddress? {
        switch ai_family {
        case AF_INET:
            ai_addr.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { socket in
                withUnsafeBytes(of: socket.pointee.sin_addr) { IPAddress(bytes: Array($0)) }
            }
        case AF_INET6:
            ai_addr.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { socket in
                withUnsafeBytes(of: socket.pointee.sin6_addr) { IPAddress(bytes: Array($0)) }
            }
        default: nil
        }
    }
}
