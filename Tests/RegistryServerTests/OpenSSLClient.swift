import TestSupport

/// Calls `openssl s_client`, for options that no other client offers.
enum OpenSSLClient {
    /// Sends a text over TLS with HTTP/1.1, and returns everything until the service closes the connection.
    static func exchange(_ text: String, port: Int) async throws -> String {
        try await run("-quiet -alpn http/1.1", port, input: text)
    }

    /// The cipher suite of a TLS 1.2 handshake that offers only `suite`; nil if it fails.
    static func handshake(_ suite: String, port: Int) async throws -> String? {
        let text = try await run("-tls1_2 -cipher \(suite):@SECLEVEL=0", port)
        return text.firstMatch(of: /Cipher is ([A-Z0-9-]+)/).map { String($0.1) }
    }

    /// A failed handshake is a result.
    private static func run(_ options: String, _ port: Int, input: String = "") async throws -> String {
        let client = "openssl s_client \(options) -connect 127.0.0.1:\(port) 2>/dev/null"
        return try await Shell.run(#"printf %s "$input" | "# + client + " || true", ["input": input])
    }
}
