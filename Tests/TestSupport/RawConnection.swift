import Foundation
import Synchronization

/// A TCP connection to this machine, for input that HTTP clients cannot send.
package final class RawConnection: Sendable {
    private let descriptor: Int32

    /// - Parameters:
    ///   - source: the last number of the local address, 127.0.0.1 by default.
    ///   - receiveBuffer: the size of the kernel's buffer in bytes; small for a slow reader.
    ///   - sendTimeout: in whole seconds; after this time without progress, sending fails.
    package init(port: Int, from source: UInt8 = 1, receiveBuffer: Int32? = nil, sendTimeout: Duration = .zero) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if var receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
        }
        var patience = timeval(tv_sec: Int(sendTimeout.components.seconds), tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        if source != 1 { try Self.use(127 << 24 | UInt32(source), port: 0) { bind(descriptor, $0, $1) } }
        try Self.use(INADDR_LOOPBACK, port: port) { connect(descriptor, $0, $1) }
    }

    /// Connects and sends a text.
    package convenience init(port: Int, sending text: String) throws {
        try self.init(port: port)
        send(text)
    }

    package static func use(_ host: in_addr_t, port: Int, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32) throws
    {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = host.bigEndian
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                call(address, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    deinit { close(descriptor) }

    package func send(_ text: String) { send(Array(text.utf8)) }

    package func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Repeats the bytes while the peer reads them.
    ///
    /// - Returns: the number of bytes sent.
    package func send(_ bytes: [UInt8], times: Int) async -> Int {
        await onOwnThread { [self] in
            var sent = 0
            for _ in 0..<times {
                let count = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
                guard count > 0 else { break }
                sent += count
            }
            return sent
        }
    }

    /// Sends a byte at a time until the peer closes the connection.
    package func trickle(every pause: Duration) {
        Thread.detachNewThread { [self] in
            while Glibc.send(descriptor, "y", 1, Int32(MSG_NOSIGNAL)) > 0 { usleep(UInt32(pause / .microseconds(1))) }
        }
    }

    package func finish() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Resets the connection (RST).
    package func reset() {
        var nobody = sockaddr(sa_family: sa_family_t(AF_UNSPEC), sa_data: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        _ = connect(descriptor, &nobody, socklen_t(MemoryLayout<sockaddr>.size))
    }

    package func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// - Returns: the number of bytes read; 0 at the end.
    package func take(most: Int) async -> Int {
        await onOwnThread { [self] in
            var bytes = [UInt8](repeating: 0, count: most)
            return recv(descriptor, &bytes, most, 0)
        }
    }

    /// Reads until the peer closes the connection, or the input ends with a text.
    package func read(until end: String? = nil) async -> String {
        await read { text in end.map { text.suffix($0.utf8.count).elementsEqual($0.utf8) } ?? false }
    }

    /// Reads until the peer closes the connection, or the input contains a text.
    package func read(past mark: String) async -> String {
        await read { text in String(decoding: text, as: UTF8.self).contains(mark) }
    }

    private func read(isEnough: @escaping @Sendable ([UInt8]) -> Bool) async -> String {
        await onOwnThread { [self] in String(decoding: readAll(isEnough), as: UTF8.self) }
    }

    /// Blocks until the peer closes the connection, or the input is sufficient.
    func readAll(_ isEnough: ([UInt8]) -> Bool = { _ in false }) -> [UInt8] {
        var (text, chunk) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
        while true {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count > 0 else { return text }
            text += chunk[..<count]
            if isEnough(text) { return text }
        }
    }
}

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
