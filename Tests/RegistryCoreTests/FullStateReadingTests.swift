import Foundation
import RegistryCore
import Testing

@Suite struct FullStateReadingTests {
    @Test("A result that the store did not give leaves the others in their places")
    func aLostResultLeavesTheOthersInTheirPlaces() throws {
        let text = """
            {"observedAt": "2026-03-01T12:00:00Z",
            "activities": [{"activityId": "a-1"}, {"activityId": 5}, {"activityId": "a-2"}]}
            """
        var json = JSONReader(try JSONParser.parse(Array(text.utf8)))
        let body = try #require(FullStateBody.read(&json, now: Date()))
        let (first, second) = (try ActivityID("a-1"), try ActivityID("a-2"))
        let given = FullStateAnswer.ItemResult(activityID: first, result: .success(.registered))
        let results = body.results(FullStateAnswer(results: [given], ended: []))
        #expect(results.map(\.activityID) == [first, nil, second])
        #expect(results.first?.result == .success(.registered))
        #expect(results.last?.result == .failure(.lostResult))
    }
}
