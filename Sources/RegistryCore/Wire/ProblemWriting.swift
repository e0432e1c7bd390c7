extension Problem {
    package init(faults: [JSONFault]) {
        let number = faults.count == 1 ? "one fault" : "\(faults.count) faults"
        let more = faults.count >= JSONReader.maximumFaults ? " or more" : ""
        self.init(.invalidRequest, "The request has \(number)\(more); errors lists them.")
        errors = faults
    }
}

extension Problem: JSONEncodable {
    /// For one item of a batch: `{code, status, detail, errors}` and the facts about its activity.
    package func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("code", code.rawValue)
            writeMembers(to: &json)
        }
    }

    /// For a complete request, in the format of RFC 9457.
    package func encode(to json: inout JSONWriter, requestID: String) {
        json.object { json in
            json.member("type", "urn:push-token-registry:problem:\(code.rawValue)")
            json.member("title", code.title)
            json.member("code", code.rawValue)
            writeMembers(to: &json)
            json.member("requestId", requestID)
        }
    }

    private func writeMembers(to json: inout JSONWriter) {
        json.member("status", code.status)
        json.member("detail", detail)
        if !errors.isEmpty { json.member("errors", errors) }
        if let activity {
            json.member("activityId", activity.activityID.rawValue)
            json.member("state", activity.state.rawValue)
            json.member("reason", ifPresent: activity.reason)
            json.member("observedAt", ifPresent: activity.observedAt)
            json.member("endedAt", ifPresent: activity.endedAt)
        }
        token?.writeMembers(to: &json)
        json.member("serverTime", ifPresent: serverTime)
    }
}
