import Foundation
import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryClient
@testable import RegistryServer

/// The client for iOS apps against the document of the API: what it sends is allowed, and what it is answered is understood.
@Suite struct ClientRequestTests {
    private static let token = Token([0x9f, 0x86])

    private static var registration: RegistryClient.ActivityRegistration {
        var registration = RegistryClient.ActivityRegistration(activityID: "a/1", token: token)
        (registration.startedAt, registration.startsAt) = (
            Timestamp(Date.minutesAgo(2)), Timestamp(Date.minutesAgo(-9))
        )
        (registration.attributesType, registration.frequentPushesEnabled) = ("Delivery", true)
        registration.aliases = ["liveactivityId": ["order-42"], "team": ["a", "b"]]
        return registration
    }

    /// One of each case, with everything that it can say, and with as little as it can.
    static let reports: [(report: Report, operation: String)] = [
        (.registration(registration), "registerActivity"),
        (.registration(RegistryClient.ActivityRegistration(activityID: "a", token: token)), "registerActivity"),
        (.end(activityID: "a", isDismissal: true), "endActivity"),
        (.end(activityID: "a", isDismissal: false), "endActivity"),
        (.startToken(attributesType: "Delivery", token), "putStartToken"),
        (.startToken(attributesType: "Delivery", nil), "deleteStartToken"),
        (.installationToken(.device, token), "putTokenOfKind"), (.installationToken(.widget, nil), "deleteTokenOfKind"),
        (.installation(aliases: ["userId": ["u-7"]]), "putInstallation"),
        (.installation(aliases: [:]), "putInstallation"),
        (.fullState([registration, RegistryClient.ActivityRegistration(activityID: "b", token: nil)]), "putFullState"),
        (.fullState([]), "putFullState"),
        (.logOut, "logOutInstallation"),
    ]

    @Test(
        "Every request of the client is one of the document's, with a body that its schema allows",
        arguments: reports
    )
    func requestsAreDocumented(report: Report, operation id: String) throws {
        let request = ReportRequest(report, observedAt: Timestamp(Date.minutesAgo(1)), installation: "i-1")
        let document = OpenAPIDocument.embedded
        let operation = try #require(document.operation(id))
        #expect(request.method == operation.method.uppercased())
        let path = operation.path.split(separator: "/").dropFirst(4)
        #expect(path.count == request.path.count)
        for (documented, sent) in zip(path, request.path) { #expect(documented.hasPrefix("{") || documented == sent) }
        let names = operation.parameters.filter { $0["in"]?.text == "query" }.compactMap { $0["name"]?.text }
        #expect(Set(request.query.keys).isSubset(of: names))
        guard let body = request.bodyBytes else {
            #expect(operation.requestSchema == nil)
            return
        }
        var validator = SchemaValidator(document: document.json)
        validator.refusesUndocumented = true
        let faults = validator.faults(
            of: try JSONParser.parse(Array(body)),
            against: try #require(operation.requestSchema)
        )
        #expect(faults == [])
    }

    @Test(
        "Every problem that the service can answer settles or postpones a report",
        arguments: RegistryCore.Problem.Code.allCases
    )
    func problemsAreUnderstood(code: RegistryCore.Problem.Code) {
        let answer = WholeAnswer(RegistryCore.Problem(code, "A sentence."), requestID: "r-1")
        var fields: [String: String] = [:]
        answer.forEachField(requestID: "r-1") { fields[$0.name.rawName] = $0.value }
        let verdict = Verdict(TransportAnswer(status: answer.status.code, fields: fields, body: Data(answer.body)))
        switch (verdict, answer.status.code) {
        case (.repeatLater, 408), (.repeatLater, 429), (.repeatLater, 500...599): break
        case (.refused(let status, let problem), 400..<500):
            #expect(status == answer.status.code && problem.code == code.rawValue)
        default: Issue.record("\(code) is taken for \(verdict)")
        }
    }
}
