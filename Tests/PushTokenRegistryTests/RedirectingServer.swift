#if canImport(Glibc)
    import Foundation
    import Glibc

    @testable import PushTokenRegistry

    /// A server that redirects each request to another of its paths and records the requests.
    final class RedirectingServer: Sendable {
        let port: UInt16
        private let listener: Int32
        private let heads = LockedValue<[String]>([])

        init() {
            listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let listener = listener
            withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    _ = bind(listener, pointer, length)
                    _ = listen(listener, 8)
                    _ = getsockname(listener, pointer, &length)
                }
            }
            port = UInt16(bigEndian: address.sin_port)
            let (heads, port) = (heads, port)
            Thread.detachNewThread { Self.serve(listener, port, heads) }
        }

        var requests: [String] { heads.withLock { $0 } }

        func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

        private static func serve(_ listener: Int32, _ port: UInt16, _ heads: LockedValue<[String]>) {
            while case let connection = accept(listener, nil, nil), connection >= 0 {
                var buffer = [UInt8](repeating: 0, count: 8192)
                let count = max(0, read(connection, &buffer, buffer.count))
                let head = String(decoding: buffer.prefix(count), as: UTF8.self)
                heads.withLock { $0.append(String(head.prefix { !$0.isNewline })) }
                let fields = "Location: http://127.0.0.1:\(port)/elsewhere\r\nContent-Length: 0\r\nConnection: close"
                let answer = Array("HTTP/1.1 307 Temporary Redirect\r\n\(fields)\r\n\r\n".utf8)
                _ = send(connection, answer, answer.count, Int32(MSG_NOSIGNAL))
                close(connection)
            }
            close(listener)
        }
    }

#endif
