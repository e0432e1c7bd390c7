import ArgumentParser
import Foundation
import NIOSSL
import RegistryCore

/// The flags that say how APNs is reached, and in whose name.
struct APNSOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The key that signs, such as AuthKey_ABC123DEFG.p8, as Apple's developer account gives it.",
            valueName: "file"
        ),
        completion: .file(extensions: ["p8"])
    )
    var key: String?

    @Option(help: "The id of the key, ten letters and digits.") var keyID: String?
    @Option(help: "The id of the team, ten letters and digits.") var teamID: String?

    @Option(
        help: ArgumentHelp(
            "A stand-in for APNs or a proxy to it; unless given, Apple's own of the environment.",
            valueName: "url"
        )
    )
    var apnsURL: String?

    @Option(
        help: ArgumentHelp(
            "A PEM file with the only certificates to trust; unless given, the system's.",
            valueName: "file"
        ),
        completion: .file(extensions: ["pem", "crt"])
    )
    var apnsRoot: String?

    /// The key with its ids; nil where none is given and none is needed.
    ///
    /// - Throws: a ``CommandFailure`` that says which is missing or wrong.
    func key(isNeeded: Bool) throws(CommandFailure) -> SigningKey? {
        let given = [key, keyID, teamID].compactMap(\.self)
        guard isNeeded || !given.isEmpty else { return nil }
        guard let key, let keyID, let teamID else {
            throw CommandFailure(
                .usage,
                "Give --key, --key-id and --team-id: APNs takes pushes in the name of a team alone."
            )
        }
        return try SigningKey(
            file: key,
            keyID: Self.identifier("--key-id", keyID),
            teamID: Self.identifier("--team-id", teamID)
        )
    }

    private static func identifier(_ flag: String, _ text: String) throws(CommandFailure) -> String {
        let isWhole = text.utf8.count == 10 && text.utf8.allSatisfy { ASCII.isLetter($0) || ASCII.isDigit($0) }
        guard isWhole else {
            throw CommandFailure(
                .usage,
                "\(flag) must be ten letters and digits, as Apple's developer account shows it."
            )
        }
        return text
    }

    /// Where to send, without a slash at the end; nil for Apple's own.
    ///
    /// - Throws: a ``CommandFailure`` when it is no such address.
    func address() throws(CommandFailure) -> String? {
        guard let apnsURL else { return nil }
        let text = apnsURL.hasSuffix("/") ? String(apnsURL.dropLast()) : apnsURL
        guard let url = URLComponents(string: text), url.scheme == "https", url.host?.isEmpty == false,
            url.path.isEmpty,
            url.query == nil, url.fragment == nil, url.user == nil, (url.port.map { (1...65_535).contains($0) } ?? true)
        else {
            throw CommandFailure(.usage, "--apns-url must be https:// and a host, such as https://localhost:8443.")
        }
        return text
    }

    /// The certificates that are trusted; nil for those of the system.
    ///
    /// - Throws: a ``CommandFailure`` when the file holds none.
    func root() throws(CommandFailure) -> [NIOSSLCertificate]? {
        guard let apnsRoot else { return nil }
        let pem = try JSONArgument.file("--apns-root", apnsRoot)
        guard let certificates = try? NIOSSLCertificate.fromPEMBytes(Array(pem)), !certificates.isEmpty else {
            throw CommandFailure(.usage, "--apns-root: \(apnsRoot) holds no certificate in PEM.")
        }
        return certificates
    }
}

/// Where pushes are sent.
struct APNSAddress: Sendable {
    /// Paths are appended to it.
    let base: String
    /// The certificates that are trusted; nil for those of the system.
    let root: [NIOSSLCertificate]?

    /// - Parameter given: nil for Apple's own service of the environment.
    init(given: String?, root: [NIOSSLCertificate]?, environment: APNSEnvironment) {
        base = given ?? Self.apple(environment)
        self.root = root
    }

    private static func apple(_ environment: APNSEnvironment) -> String {
        switch environment {
        case .sandbox: "https://api.sandbox.push.apple.com"
        case .production: "https://api.push.apple.com"
        }
    }
}
