import RegistryServer

extension ServiceSettings {
    /// The problems of the settings in force.
    var findings: [Finding] {
        guard isInTheClear else { return [] }
        return [
            Finding(
                .noTLS,
                "Others reach the address \(host), and there is no TLS: keys and tokens travel readably.",
                remedy: "Give --tls-cert and --tls-key, or name the proxies that end TLS with --trusted-proxies."
            )
        ]
    }
}
