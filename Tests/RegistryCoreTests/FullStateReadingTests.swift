import Foundation
import RegistryCore
import Testing

@Suite struct FullStateReadingTests {
    /// The service keeps a response in memory until its caller has read it.
    @Test func `The response to a body full of faults has a bounded size`() throws {
        let values = [String](repeating: "1", count: 90).joined(separator: ",")
        let item = #"{"activityId": "a", "aliases": {"k": [\#(values)]}}"#
        let items = [String](repeating: item, count: 1000).joined(separator: ",")
        var json = JSONReader(
            try JSONParser.parse(Array(#"{"observedAt": "2026-03-01T12:00:00Z", "activities": [\#(items)]}"#.utf8))
        )
        let body = try #require(FullStateBody.read(&json))
        let results = body.readable.items.map {
            Result<RegistrationOutcome, Problem>.failure($0.problem ?? Problem(faults: []))
        }
        let faults = body.results(FullStateResults(results: results, ended: [])).map { result in
            if case .failure(let problem) = result.result { problem.errors.count } else { 0 }
        }
        #expect(faults.first == JSONReader.maximumFaults && faults.allSatisfy { $0 >= 1 })
        #expect(faults.reduce(0, +) <= 1000 + results.count)
    }

    @Test func `A missing result of the store leaves the other results at their positions`() throws {
        let text = """
            {"observedAt": "2026-03-01T12:00:00Z",
            "activities": [{"activityId": "a-1"}, {"activityId": 5}, {"activityId": "a-2"}]}
            """
        var json = JSONReader(try JSONParser.parse(Array(text.utf8)))
        let body = try #require(FullStateBody.read(&json))
        let (first, second) = (try ActivityID("a-1"), try ActivityID("a-2"))
        let results = body.results(FullStateResults(results: [.success(.registered)], ended: []))
        #expect(results.map(\.activityID) == [first, nil, second])
        #expect(results.first?.result == .success(.registered))
        #expect(results.last?.result == .failure(.lostResult))
    }
}
