import Dispatch
import Foundation
import Logging
import NIOCore
import NIOSSL
import Synchronization

/// The certificate and the private key of the service, read from two PEM files and read again when they change.
///
/// Each handshake looks at the files' times, so a renewed certificate is in force at once, without a restart. While what
/// is there does not fit together (the one file is written and the other not yet), the last that did stays in force.
package final class TLSIdentity: Sendable {
    /// Why there is none: a sentence for the operator.
    package struct Failure: Error, CustomStringConvertible {
        /// The sentence: which file cannot be used, and why.
        package let description: String
    }

    private struct Identity {
        let chain: [NIOSSLCertificate]
        let key: NIOSSLPrivateKey

        /// The configuration that a connection is opened with.
        var configuration: TLSConfiguration {
            .makeServerConfiguration(certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        }

        var override: NIOSSLContextConfigurationOverride {
            var override = NIOSSLContextConfigurationOverride()
            override.certificateChain = chain.map { .certificate($0) }
            override.privateKey = .privateKey(key)
            return override
        }
    }

    private struct State {
        var versions: [FileVersion]
        var identity: Identity
    }

    /// The attributes of a file that change when the file does.
    private struct FileVersion: Equatable {
        let time: Date?
        let size: Int?
        let node: Int?
    }

    private let certificate: String
    private let key: String
    private let logger: Logger
    private let state: Mutex<State>

    /// Reads both files.
    ///
    /// - Parameters:
    ///   - certificate: the path of the certificate, and after it those that it is signed by, as PEM.
    ///   - key: the path of its private key, as PEM without a passphrase.
    /// - Throws: ``Failure``.
    package init(certificate: String, key: String, logger: Logger) throws(Failure) {
        self.certificate = certificate
        self.key = key
        self.logger = logger
        let versions = Self.versions(certificate, key)
        state = Mutex(State(versions: versions, identity: try Self.read(certificate, key)))
        warnIfExpired()
    }

    /// TLS 1.2 or later, with whatever certificate is in force at the handshake.
    var configuration: TLSConfiguration {
        var configuration = state.withLock(\.identity.configuration)
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuiteValues = Self.cipherSuites
        configuration.sslContextCallback = { [self] _, promise in choose(promise) }
        return configuration
    }

    /// Those of TLS 1.2 that keep what was said secret when the private key is lost later, and that authenticate what they
    /// encrypt; those of TLS 1.3 all do.
    private static let cipherSuites: [NIOTLSCipher] = [
        .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ]

    /// Gives a handshake its certificate.
    ///
    /// Files are read away from the handshake's thread: what BoringSSL has to say against a file lies in a queue of the
    /// thread, where the handshake would take it for its own failure.
    private func choose(_ promise: EventLoopPromise<NIOSSLContextConfigurationOverride>) {
        let versions = Self.versions(certificate, key)
        let known = state.withLock { state in
            defer { state.versions = versions }
            // The first handshake that sees the change reads; those meanwhile go on with what there is.
            return state.versions == versions ? state.identity.override : nil
        }
        if let known { return promise.succeed(known) }
        DispatchQueue.global().async { [self] in
            renew()
            promise.succeed(state.withLock(\.identity.override))
        }
    }

    private func renew() {
        do throws(Failure) {
            let identity = try Self.read(certificate, key)
            state.withLock { $0.identity = identity }
            logger.notice("the TLS certificate was read anew")
            warnIfExpired()
        } catch {
            logger.error("the TLS certificate changed and cannot be used; the last one stays: \(error)")
        }
    }

    private func warnIfExpired() {
        let end = state.withLock { $0.identity.chain.first?.notValidAfter } ?? .max
        guard Date(timeIntervalSince1970: TimeInterval(end)) < Date() else { return }
        logger.warning("the TLS certificate has expired: callers will refuse it")
    }

    private static func versions(_ paths: String...) -> [FileVersion] {
        paths.map { path in
            // Names that point elsewhere (as a secret mounted by Kubernetes does) are followed.
            let file = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
            let found = (try? FileManager.default.attributesOfItem(atPath: file)) ?? [:]
            return FileVersion(
                time: found[.modificationDate] as? Date,
                size: found[.size] as? Int,
                node: found[.systemFileNumber] as? Int
            )
        }
    }

    private static func read(_ certificate: String, _ key: String) throws(Failure) -> Identity {
        for path in [certificate, key] {
            guard let file = UnreadableFile(path) else { continue }
            throw Failure(description: "\(path) cannot be read: \(file.reason).")
        }
        guard let chain = try? NIOSSLCertificate.fromPEMFile(certificate), !chain.isEmpty else {
            throw Failure(description: "\(certificate) holds no certificates in PEM.")
        }
        guard let privateKey = try? NIOSSLPrivateKey(file: key, format: .pem) else {
            throw Failure(description: "\(key) holds no private key in PEM without a passphrase.")
        }
        let identity = Identity(chain: chain, key: privateKey)
        // This is where BoringSSL compares the two.
        guard (try? NIOSSLContext(configuration: identity.configuration)) != nil else {
            throw Failure(description: "The key in \(key) is not that of the certificate in \(certificate).")
        }
        return identity
    }
}
