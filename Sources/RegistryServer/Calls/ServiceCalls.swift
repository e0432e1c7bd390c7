import HTTPTypes
import RegistryCore
import RegistryStore
import WebAssets

extension Answer {
    /// `GET /openapi.json`.
    static var openAPI: Answer {
        Answer(
            fields: [.contentType: MediaType.json, .cacheControl: "public, max-age=300"],
            body: .bytes(WebAssets.openAPI)
        )
    }
}

extension Call {
    /// `GET /livez`: the service runs; with `?verbose` its version. It asks nobody else, for to restart it would not mend Postgres.
    var liveness: Answer {
        .json { json in
            json.member("status", "ok")
            if isVerbose { json.member("version", metrics.version) }
        }
    }

    private var isVerbose: Bool { !query["verbose"].isEmpty }

    /// `GET /readyz`: whether the service can do its work now; with `?verbose` how that was found.
    ///
    /// - Parameter isOpen: whether everyone may ask how.
    /// - Throws: `unavailable` when Postgres takes no writes, and once the service was told to stop.
    func readiness(isOpen: Bool = false) async throws -> Answer {
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
