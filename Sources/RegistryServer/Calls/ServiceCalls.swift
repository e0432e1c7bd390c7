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
    /// With `?verbose` its version. It does not ask Postgres: a restart would not help Postgres.
    var liveness: Response {
        .json { json in
            json.member("status", "ok")
            if isVerbose { json.member("version", metrics.version) }
        }
    }

    private var isVerbose: Bool { !query["verbose"].isEmpty }

    /// With `?verbose` the facts behind the result.
    ///
    /// - Parameter isOpen: whether everyone may see the facts.
    /// - Throws: `unavailable` if Postgres accepts no writes, and after the start of a shutdown.
    func readiness(isOpen: Bool = false) async throws -> Response {
        if isVerbose, !isOpen {
            try Access.operatorReads.check(await access.authenticator.principal(for: fields, from: network))
        }
        guard !shutdownNotice.isGiven else { throw Problem(.unavailable, "The service is stopping.") }
        let readiness = try await access.readiness.value()
        return .json { json in
            json.member("status", "ok")
            if isVerbose { json.object("checks", readiness.writeChecks) }
        }
    }
}

extension Readiness {
    fileprivate func writeChecks(to json: inout JSONWriter) {
        json.object("postgres") { json in
            json.member("status", "ok")
            json.member("serverVersion", serverVersion)
        }
        json.object("schema") { json in
            json.member("status", "ok")
            json.member("version", schemaVersion)
        }
    }
}
