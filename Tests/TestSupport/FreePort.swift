import Foundation
import Synchronization

/// Ports for programs that take seconds until they listen.
package enum FreePort {
    private struct NoneIsFree: Error {}

    private static let next = Atomic(Int.random(in: 10_000..<25_000))

    /// An unused port outside the kernel's range for outgoing connections. No other test of this process gets it.
    package static func take() throws -> Int {
        for _ in 0..<100 {
            let port = next.add(1, ordering: .relaxed).oldValue
            if isFree(port) { return port }
        }
        throw NoneIsFree()
    }

    private static func isFree(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        return (try? RawConnection.use(INADDR_LOOPBACK, port: port) { bind(descriptor, $0, $1) }) != nil
    }
}
