extension RegistrationResult: JSONEncodable {
    package func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("activityId", activity.activityID.rawValue)
            json.member("outcome", outcome.rawValue)
            json.member("state", activity.state.rawValue)
            json.member("observedAt", ifPresent: activity.observedAt)
            json.member("confirmedAt", ifPresent: activity.confirmedAt)
            json.member("expiresAt", ifPresent: activity.expiresAt)
            json.member("revision", activity.revision)
        }
    }
}

extension ActivityRecord {
    package func encode(to json: inout JSONWriter, bundleID: BundleID, environment: APNSEnvironment) {
        json.object { json in
            json.member("activityId", status.activityID.rawValue)
            json.member("state", status.state.rawValue)
            json.member("reason", ifPresent: status.reason)
            if let token { json.hex("token", token.bytes) }
            json.member("topic", TokenKind.update.topic(of: bundleID))
            json.member("pushType", TokenKind.update.pushType)
            json.member("environment", environment.rawValue)
            if let installation { json.hex("installation", installation.bytes) }
            facts.writeMembers(to: &json)
            json.member("startedAt", startedAt)
            json.member("startsAt", ifPresent: startsAt)
            json.member("observedAt", ifPresent: status.observedAt)
            json.member("confirmedAt", ifPresent: status.confirmedAt)
            json.member("expiresAt", ifPresent: status.expiresAt)
            json.member("endedAt", ifPresent: status.endedAt)
            json.member("revision", status.revision)
        }
    }
}

extension ResolvedActivity: JSONEncodable {
    package func encode(to json: inout JSONWriter) { json.object(writeMembers) }

    func writeMembers(to json: inout JSONWriter) {
        json.member("activityId", activityID.rawValue)
        json.hex("token", token.bytes)
        if let installation { json.hex("installation", installation.bytes) }
        facts.writeMembers(to: &json)
        json.member("startedAt", startedAt)
        json.member("startsAt", ifPresent: startsAt)
        json.member("observedAt", observedAt)
        json.member("confirmedAt", confirmedAt)
        json.member("expiresAt", expiresAt)
        json.member("revision", revision)
        json.member("metadata", ifPresent: metadata)
        json.member("installationMetadata", ifPresent: installationMetadata)
    }
}

extension FullStateResult: JSONEncodable {
    /// Omits the id if it was unreadable.
    package func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("activityId", ifPresent: activityID?.rawValue)
            switch result {
            case .success(let outcome): json.member("outcome", outcome.rawValue)
            case .failure(let problem): json.member("problem", problem)
            }
        }
    }
}
