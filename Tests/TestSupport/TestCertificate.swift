import Foundation

/// A self-signed certificate for this machine and its key, in a directory that lives as long as this object.
package final class TestCertificate: Sendable {
    package let directory = "/tmp/pushreg-tls-\(UUID().uuidString.prefix(8))"
    package var certificate: String { directory + "/cert.pem" }
    package var key: String { directory + "/key.pem" }

    package init(isRSA: Bool = false) async throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try await renew(isRSA: isRSA)
    }

    /// Replaces both files.
    package func renew(isRSA: Bool = false) async throws {
        let names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
        let kind = isRSA ? "rsa:2048" : "ec -pkeyopt ec_paramgen_curve:prime256v1"
        let request = "openssl req -x509 -newkey \(kind) -nodes -days 2 -subj /CN=localhost -addext \(names)"
        try await Shell.run("\(request) -keyout \(key) -out \(certificate)")
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }
}
