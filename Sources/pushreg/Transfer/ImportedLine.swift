import Foundation
import RegistryCore
import RegistryStore

/// A line of NDJSON to import.
struct ImportedLine: Sendable {
    let number: Int
    /// Without the newline; nil when it is longer than a line may be.
    let text: [UInt8]?

    /// The outcome without a write: a line that can be read counts as taken.
    func dryOutcome(in app: BundleID) -> LineOutcome {
        switch record(in: app) {
        case .success: .taken
        case .failure(let reason): .faulty(reason.detail)
        }
    }

    /// Reads the line.
    ///
    /// - Returns: the record, or what is wrong with it, without repeating anything of it but the names of our own members.
    func record(in app: BundleID) -> Result<TransferRecord, JSONFaultReason> {
        guard let text else {
            return .failure(JSONFaultReason("It is longer than \(LineReader.maximumLine / 1024) KiB."))
        }
        let value: JSONValue
        do {
            value = try JSONParser.parse(text, maximumDepth: JSONParser.deepestNesting)
        } catch {
            return .failure(JSONFaultReason("It is not JSON: \(error.description)"))
        }
        var json = JSONReader(value)
        let record = TransferRecord.read(&json) { InstallationHash(of: $0, in: app) }
        guard let record else {
            let fault = json.faults.first
            // No further than the first member: what follows may be anything.
            let member = fault?.pointer.split(separator: "/").first.map { "\"\($0)\"" } ?? "It"
            return .failure(JSONFaultReason("\(member) \(fault?.detail ?? "is not a record")."))
        }
        return .success(record)
    }
}
