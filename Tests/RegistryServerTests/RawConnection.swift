import Foundation

/// A bare TCP connection to this machine, for what no HTTP client would send.
final class RawConnection: Sendable {
    private let descriptor: Int32

    /// Connects.
    ///
    /// - Parameter receiveBuffer: The size of the kernel's buffer in bytes; small for a reader that does not keep up.
    init(port: Int, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if var receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    deinit { close(descriptor) }

    /// Sends a few bytes.
    func send(_ text: String) { send(Array(text.utf8)) }

    /// Sends all that the other side takes.
    func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Reads until the other side closes, or until what was read ends with a text.
    func read(until end: String? = nil) async -> String {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [self] in
                var (text, chunk) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
                while true {
                    let count = recv(descriptor, &chunk, chunk.count, 0)
                    guard count > 0 else { break }
                    text += chunk[..<count]
                    if let end, text.suffix(end.utf8.count).elementsEqual(end.utf8) { break }
                }
                continuation.resume(returning: String(decoding: text, as: UTF8.self))
            }
        }
    }
}
