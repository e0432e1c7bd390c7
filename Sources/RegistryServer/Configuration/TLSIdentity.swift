import Dispatch
import Foundation
import Logging
import NIOCore
import NIOSSL
import Synchronization

/// The service's certificate and private key from two PEM files, reloaded when they change.
///
/// Each handshake compares the files, so a renewed certificate applies without a restart. While the files do not
/// match (one is written before the other), the last valid pair stays in use.
package final class TLSIdentity: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        /// Which file is unusable, and why.
        package let description: String
    }

    private struct State {
        /// As last seen, usable or not.
        var files: [Data?]
        /// With the current certificate chain and private key.
        var configuration: TLSConfiguration

        var override: NIOSSLContextConfigurationOverride {
            var override = NIOSSLContextConfigurationOverride()
            override.certificateChain = configuration.certificateChain
            override.privateKey = configuration.privateKey
            return override
        }
    }

    private let certificate: String
    private let key: String
    private let logger: Logger
    private let state: Mutex<State>

    /// - Parameters:
    ///   - certificate: The path of a PEM file with the certificate, followed by its chain.
    ///   - key: The path of a PEM file without a passphrase.
    package init(certificate: String, key: String, logger: Logger) throws(Failure) {
        (self.certificate, self.key, self.logger) = (certificate, key, logger)
        let files = Self.contents(certificate, key)
        state = Mutex(State(files: files, configuration: try Self.read(certificate, key)))
        warnIfExpired()
    }

    /// TLS 1.2 or later. Each handshake uses the current certificate.
    var configuration: TLSConfiguration {
        var configuration = state.withLock(\.configuration)
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuiteValues = Self.cipherSuites
        configuration.sslContextCallback = { [self] _, promise in choose(promise) }
        return configuration
    }

    /// The TLS 1.2 suites with forward secrecy and authenticated encryption. All TLS 1.3 suites have both.
    private static let cipherSuites: [NIOTLSCipher] = [
        .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ]

    /// Parses the files on another thread, because BoringSSL queues errors by thread, and the handshake would report
    /// them as its own failure.
    private func choose(_ promise: EventLoopPromise<NIOSSLContextConfigurationOverride>) {
        let files = Self.contents(certificate, key)
        let known = state.withLock { state in
            defer { state.files = files }
            // The first handshake after a change reloads. Concurrent ones use the current certificate.
            return state.files == files ? state.override : nil
        }
        if let known { return promise.succeed(known) }
        DispatchQueue.global().async { [self] in
            renew()
            promise.succeed(state.withLock(\.override))
        }
    }

    private func renew() {
        do throws(Failure) {
            let configuration = try Self.read(certificate, key)
            state.withLock { $0.configuration = configuration }
            logger.notice("the TLS certificate was reloaded")
            warnIfExpired()
        } catch {
            logger.error("the new TLS certificate cannot be used; the previous certificate stays in use: \(error)")
        }
    }

    private func warnIfExpired() {
        guard case .certificate(let first)? = state.withLock(\.configuration.certificateChain.first),
            Date(timeIntervalSince1970: TimeInterval(first.notValidAfter)) < Date()
        else { return }
        logger.warning("the TLS certificate has expired, so clients refuse it")
    }

    private static func contents(_ paths: String...) -> [Data?] {
        paths.map { FileManager.default.contents(atPath: $0) }
    }

    private static func read(_ certificate: String, _ key: String) throws(Failure) -> TLSConfiguration {
        for path in [certificate, key] {
            guard let file = UnreadableFile(path) else { continue }
            throw Failure(description: "\(path) cannot be read: \(file.reason).")
        }
        guard let chain = try? NIOSSLCertificate.fromPEMFile(certificate), !chain.isEmpty else {
            throw Failure(description: "\(certificate) has no certificates in PEM.")
        }
        guard let privateKey = try? NIOSSLPrivateKey(file: key, format: .pem) else {
            throw Failure(description: "\(key) has no private key in PEM without a passphrase.")
        }
        let configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(privateKey)
        )
        // BoringSSL compares the key with the certificate here.
        guard (try? NIOSSLContext(configuration: configuration)) != nil else {
            throw Failure(description: "The key in \(key) does not match the certificate in \(certificate).")
        }
        return configuration
    }
}

package struct UnreadableFile {
    package let code: Int32
    /// Such as "Permission denied".
    package var reason: String { String(cString: strerror(code)) }

    /// Nil if the file is readable.
    package init?(_ path: String) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        defer { if descriptor >= 0 { close(descriptor) } }
        var byte: UInt8 = 0
        // Opening a directory succeeds, so this also reads.
        guard descriptor < 0 || read(descriptor, &byte, 1) < 0 else { return nil }
        code = errno
    }
}
