import Foundation
import TestSupport

/// A loopback port that accepts connections and never responds, like a frozen host.
final class SilentListener: Sendable {
    let port: Int
    private let descriptor: Int32

    init() throws {
        port = try FreePort.take()
        // A program started by another test must not inherit the port.
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        try RawConnection.use(INADDR_LOOPBACK, port: port) { bind(descriptor, $0, $1) }
        guard listen(descriptor, 16) == 0 else { throw Failure("the port does not listen") }
    }

    deinit { close(descriptor) }
}
