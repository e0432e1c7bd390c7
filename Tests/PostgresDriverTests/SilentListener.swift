import Foundation

/// A loopback port that accepts connections and never responds, like a frozen host.
final class SilentListener: Sendable {
    let port: Int
    private let descriptor: Int32

    /// - Parameter port: 0 for a port chosen by the kernel.
    init(port: Int = 0) throws {
        // A program started by another test must not inherit the port.
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                bind(descriptor, name, length) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, name, &length) == 0
            }
        }
        guard isBound else {
            close(descriptor)
            throw Failure("no free port")
        }
        self.descriptor = descriptor
        self.port = Int(in_port_t(bigEndian: address.sin_port))
    }

    deinit { close(descriptor) }
}
