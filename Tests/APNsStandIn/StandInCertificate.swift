import Foundation

/// A self-signed certificate for this machine and its key, made by openssl.
package struct StandInCertificate: Sendable {
    package let directory: String
    package var certificate: String { directory + "/cert.pem" }
    package var key: String { directory + "/key.pem" }

    struct CannotBeMade: Error {}

    package init() throws {
        directory = "/tmp/pushreg-apns-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
            "-keyout", key, "-out", certificate,
        ]
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CannotBeMade() }
    }

    package func remove() { try? FileManager.default.removeItem(atPath: directory) }
}
