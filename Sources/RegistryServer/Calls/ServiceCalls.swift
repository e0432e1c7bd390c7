import HTTPTypes
import RegistryCore
import RegistryStore
import WebAssets

extension Response {
    static var openAPI: Response {
        Response(
            fields: [.contentType: MediaType.json, .cacheControl: "public, max-age=300"],
            body: .bytes(WebAssets.openAPI)
        )
    }
}

extension Call {
    /// Does not query Postgres, because restarting this process would not repair Postgres. `?verbose` adds the version.
    var liveness: Response {
        .json { json in
            json.member("status", "ok")
            if isVerbose { json.member("version", metrics.version) }
        }
    }

    private var isVerbose: Bool { !query["verbose"].isEmpty }

    /// `?verbose` adds the results of the checks.
    ///
    /// - Parameter isOpen: Whether all callers may see the results.
    /// - Throws: `unavailable` if Postgres rejects writes, and during a shutdown.
    func readiness(isOpen: Bool = false) async throws -> Response {
        if isVerbose, !isOpen {
            try Access.auditReads.check(await parts.authenticator.principal(for: fields, from: network))
        }
        if parts.configuration.shutdownNotice.isGiven { throw Problem(.unavailable, "The service is stopping.") }
        let readiness = try await parts.readiness.value()
        return .json { json in
            json.member("status", "ok")
            guard isVerbose else { return }
            json.object("checks") { json in
                json.object("postgres") { json in
                    json.member("status", "ok")
                    json.member("serverVersion", readiness.serverVersion)
                }
                json.object("schema") { json in
                    json.member("status", "ok")
                    json.member("version", readiness.schemaVersion)
                }
            }
        }
    }
}
