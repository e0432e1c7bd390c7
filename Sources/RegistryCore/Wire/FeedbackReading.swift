import Foundation

package struct FeedbackBody: Sendable, Hashable {
    package let reports: [Result<FeedbackReport, Problem>]

    /// For one JSON body. NDJSON has no such limit.
    package static let maximumReports = 1000

    /// Reads `{reports: [{token, status, reason, timestamp, apnsId, leaseId}]}`. A malformed report gets a problem in
    /// its position.
    package static func read(_ json: inout JSONReader) -> FeedbackBody? {
        json.elements("reports", maximumCount: maximumReports).map { elements in
            FeedbackBody(reports: elements.map(FeedbackReport.read))
        }
    }
}

extension FeedbackReport {
    /// For `reason` and `apnsId`, in bytes.
    private static let maximumText = 256

    /// Milliseconds from 2001-09-09 to the year 9999. APNs's timestamps are later, and a lesser number is in seconds.
    private static let timestamps = 1_000_000_000_000...253_402_300_799_999

    package static func read(_ json: JSONReader) -> Result<FeedbackReport, Problem> {
        var json = json
        let token = json.string("token", PushToken.init(hexadecimal:))
        let status = json.integer("status", in: 100...599)
        let reason = json.optionalString("reason", text)
        let milliseconds = json.optionalInteger("timestamp")
        if let milliseconds, !timestamps.contains(milliseconds) {
            json.fault("timestamp", "timestamp is in milliseconds, as APNs sends it")
        }
        // Accepted so that a sender can forward APNs's response. It is checked and not stored.
        _ = json.optionalString("apnsId", text)
        let leaseID = json.optionalString("leaseId", LeaseID.init)
        guard let token, let status, json.faults.isEmpty else { return .failure(Problem(faults: json.faults)) }
        let timestamp = milliseconds.map { Date(timeIntervalSince1970: Double($0) / 1000) }
        var report = FeedbackReport(token: token, status: status, reason: reason, timestamp: timestamp)
        report.leaseID = leaseID
        return .success(report)
    }

    private static func text(_ text: String) throws(JSONFaultReason) -> String {
        guard text.utf8.count <= maximumText else { throw JSONFaultReason("must be at most \(maximumText) bytes") }
        guard !text.utf8.contains(0) else { throw JSONFaultReason("must not contain the character U+0000") }
        return text
    }
}

extension FeedbackResult: JSONEncodable {
    package func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("action", action.rawValue)
            json.member("detail", detail)
        }
    }
}
