import Foundation

extension TransportRequest {
    /// The request of an entry: the same bytes each time it is sent, so that the registry may receive it twice.
    init?(
        _ entry: OutboxEntry,
        _ installationID: InstallationID,
        _ credential: String,
        _ configuration: LiveActivityRegistry.Configuration,
        _ environment: APNSEnvironment
    ) {
        let call = ReportRequest(entry.report, observedAt: entry.observedAt, installation: installationID.text)
        let url = call.url(service: configuration.service, bundleID: configuration.bundleID, environment: environment)
        guard let url else { return nil }
        var fields = [
            "Authorization": "Bearer \(credential)", "X-Installation-Id": installationID.text,
            "Request-Id": "client-\(String(entry.id, radix: 16))",
        ]
        let body = call.bodyBytes
        if body != nil { fields["Content-Type"] = "application/json" }
        self.init(method: call.method, url: url, fields: fields, body: body)
    }
}
