import Foundation

/// Calls `openssl s_client`, for options that no other client offers.
enum OpenSSLClient {
    /// Sends a text over TLS with HTTP/1.1, and returns everything until the service closes the connection.
    static func exchange(_ text: String, port: Int) async throws -> String {
        try await run(["-quiet", "-alpn", "http/1.1", "-connect", "127.0.0.1:\(port)"], input: text)
    }

    /// The cipher suite of a TLS 1.2 handshake that offers only `suite`; nil if it fails.
    static func handshake(_ suite: String, port: Int) async throws -> String? {
        let text = try await run(["-tls1_2", "-cipher", suite + ":@SECLEVEL=0", "-connect", "127.0.0.1:\(port)"])
        return text.firstMatch(of: /Cipher is ([A-Z0-9-]+)/).map { String($0.1) }
    }

    /// Uses files because other programs started meanwhile would inherit pipes and hold them open.
    private static func run(_ arguments: [String], input: String = "") async throws -> String {
        let name = "/tmp/pushreg-program-\(UUID().uuidString)"
        let (given, written) = (name + ".in", name + ".out")
        defer { for file in [given, written] { unlink(file) } }
        for (file, text) in [(given, input), (written, "")] {
            try text.write(toFile: file, atomically: false, encoding: .utf8)
        }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = ["s_client"] + arguments
        process.standardInput = FileHandle(forReadingAtPath: given)
        process.standardOutput = FileHandle(forWritingAtPath: written)
        process.standardError = FileHandle.nullDevice
        try await withCheckedThrowingContinuation { (ended: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in ended.resume() }
            do { try process.run() } catch { ended.resume(throwing: error) }
        }
        return String(decoding: try Data(contentsOf: URL(fileURLWithPath: written)), as: UTF8.self)
    }
}
