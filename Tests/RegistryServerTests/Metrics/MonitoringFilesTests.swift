import Foundation
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite struct MonitoringFilesTests {
    private static func text(_ path: String) throws -> String {
        try String(contentsOf: ProjectFiles.root.appendingPathComponent(path), encoding: .utf8)
    }

    private static let alerts = "deploy/prometheus/alerts.yml"
    private static let runbook = "Sources/WebAssets/Documentation.docc/Monitoring.md"
    private static let files = [
        alerts, "deploy/prometheus/alerts.test.yml", "deploy/grafana/dashboard.json", runbook,
        "Sources/WebAssets/Documentation.docc/StatesOfAnActivity.md",
    ]

    /// The metrics in a text, without the suffixes of histograms.
    private static func names(in text: String) -> Set<String> {
        let histograms = Metric.allCases.filter { $0.type == "histogram" }.map(\.rawValue)
        return Set(
            text.matches(of: #/pushreg_[a-z_]+/#).map { match in
                let name = String(match.output)
                let base = name.replacing(#/_(bucket|sum|count)$/#, with: "")
                return histograms.contains(base) ? base : name
            }
        )
    }

    @Test(arguments: files) func `Alerts and dashboard use existing metrics`(_ file: String) throws {
        let names = try Self.names(in: Self.text(file))
        #expect(names.subtracting(Metric.allCases.map(\.rawValue)) == [])
        #expect(!names.isEmpty)
    }

    @Test func `Every metric is explained`() throws {
        #expect(try Set(Metric.allCases.map(\.rawValue)).subtracting(Self.names(in: Self.text(Self.runbook))) == [])
    }

    @Test func `Every alert has its paragraph`() throws {
        let alerts = try Self.text(Self.alerts)
        let named = alerts.matches(of: #/- alert: (\w+)/#).map { String($0.1) }
        let linked = alerts.matches(of: #/runbook: "Monitoring\.md#(\w+)"/#).map { String($0.1) }
        let explained = try Self.text(Self.runbook).matches(of: #/### (Pushreg\w+)\n\n\S/#).map { String($0.1) }
        #expect(named.count == 12)
        #expect(named == linked)
        #expect(named == explained)
    }

    @Test func `The dashboard is JSON`() throws {
        let dashboard = try JSONParser.parse(Array(Self.text("deploy/grafana/dashboard.json").utf8))
        guard case .array(let panels) = dashboard["panels"] else { throw JSONFaultReason("must have panels") }
        #expect(panels.count > 20)
        #expect(Set(panels.map { $0["id"] }).count == panels.count)
    }
}
