import Foundation
import PushTokenRegistryTestSupport
import RegistryCore
import TestSupport
import Testing

@testable import PushTokenRegistry
@testable import RegistryServer

@Suite struct ClientRequestTests {
    private static let validator = {
        var validator = SchemaValidator(document: APIDocument.embedded.json)
        validator.refusesUndocumented = true
        return validator
    }()

    private static let configuration = {
        let url = URL(string: "https://push.example.com/base")!
        var configuration = LiveActivityRegistry.Configuration(service: url, key: "prc_key")
        (configuration.bundleID, configuration.environment) = ("com.example.food", .production)
        return configuration
    }()

    private static let time = PushTokenRegistry.Timestamp(Date.minutesAgo(1))
    private static let base = "/base/v1/apps/com.example.food/production/"

    /// A report as sent, after a round trip through the file.
    private static func request(_ report: Report, by owner: Owner) throws -> RecordedRequest {
        let entry = OutboxEntry(id: .max, report: report, observedAt: Self.time, owner: owner)
        let stored = try JSONDecoder().decode(OutboxEntry.self, from: JSONEncoder().encode(entry))
        let installation = String(repeating: "0123456789abcdef", count: 2)
        return RecordedRequest(configuration.request(stored, installation, "a.b.c"))
    }

    @Test(arguments: ClientReports.all, [Owner.installation, .user("u-7")])
    func `Every request of the client has documented parameters, fields and body`(report: Report, owner: Owner) throws {
        let request = try Self.request(report, by: owner)
        let operation = try #require(APIDocument.embedded.operation(ClientReports.operation(of: report)))
        #expect(request.method == operation.method.uppercased())
        #expect(try faults(ofAddress: request.url, operation) == [])
        #expect(try faults(ofFields: request.fields, operation) == [])
        #expect(request.fields["Authorization"] == "Bearer a.b.c")
        #expect((request.body != nil) == (request.fields["Content-Type"] == "application/json"))
        #expect(try faults(ofBody: request.body, operation) == [])
    }

    @Test func `An undocumented request is detected`() throws {
        let operation = try #require(APIDocument.embedded.operation("registerActivity"))
        let address = try #require(URL(string: "https://push.example.com\(Self.base)activities/a%2F1"))
        #expect(try faults(ofAddress: address, operation) == [])
        for wrong in ["activities/a/1", "activity/a", "activities/a?observedAt=now", "activities/."] {
            let address = try #require(URL(string: "https://push.example.com\(Self.base)\(wrong)"))
            #expect(try faults(ofAddress: address, operation) != [], "\(wrong)")
        }
        #expect(try faults(ofFields: ["X-Installation-Id": "i", "X-Other": "1"], operation) == ["X-Other is unknown"])
        for body in [nil, "{}", #"{"token": "xyz"}"#, #"{"token": "00", "platform": "ios"}"#] {
            #expect(try faults(ofBody: body.map { Data($0.utf8) }, operation) != [], "\(body ?? "none")")
        }
    }
}

extension ClientRequestTests {
    private func faults(ofAddress url: URL, _ operation: APIOperation) throws -> [String] {
        let address = try #require(URLComponents(url: url, resolvingAgainstBaseURL: false))
        let sent = address.percentEncodedPath.dropFirst("/base".count).split(separator: "/")
        let documented = operation.path.split(separator: "/")
        guard sent.count == documented.count else { return ["\(url.path) has other parts than \(operation.path)"] }
        var faults: [String] = []
        for (part, place) in zip(sent, documented) {
            guard place.hasPrefix("{") else {
                if part != place { faults.append("\(part) is no \(place)") }
                continue
            }
            let value = try #require(String(part).removingPercentEncoding)
            faults += try self.faults(of: value, String(place.dropFirst().dropLast()), in: "path", operation)
        }
        for item in address.queryItems ?? [] {
            faults += try self.faults(of: item.value ?? "", item.name, in: "query", operation)
        }
        return faults
    }

    private func faults(ofFields fields: [String: String], _ operation: APIOperation) throws -> [String] {
        // The document has these as `security` and the body's media type. Every request may name its program.
        let others = fields.filter { !["Authorization", "Content-Type", "User-Agent"].contains($0.key) }
        return try others.sorted { $0.key < $1.key }.flatMap { name, value in
            try faults(of: value, name, in: "header", operation)
        }
    }

    private func faults(
        of value: String,
        _ name: String,
        in place: String,
        _ operation: APIOperation
    ) throws -> [String] {
        let parameter = operation.parameters.first { $0["name"]?.string == name && $0["in"]?.string == place }
        guard let parameter else { return ["\(name) is unknown"] }
        let schema = try #require(parameter["schema"])
        return Self.validator.faults(of: .string(value), against: schema).map { "\(name) \($0.detail)" }
    }

    private func faults(ofBody body: Data?, _ operation: APIOperation) throws -> [String] {
        guard let schema = operation.requestSchema else { return body == nil ? [] : ["a body is sent"] }
        guard let body else { return ["no body is sent"] }
        let faults = Self.validator.faults(of: try JSONParser.parse(Array(body)), against: schema)
        return faults.map { "\($0.pointer) \($0.detail)" }
    }
}
