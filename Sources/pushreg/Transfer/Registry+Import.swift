import Foundation
import RegistryCore
import RegistryServer
import RegistryStore

extension Registry {
    /// Does what a line says, by the rules of the requests that would say it.
    ///
    /// - Throws: ``Problem`` when it cannot be done now, and the import must stop.
    func take(_ line: ImportedLine, in scope: Scope) async throws -> LineOutcome {
        switch line.content {
        case .nothing(let outcome): return outcome
        case .device(let device): return try await take(device, in: scope)
        case .text(let text):
            switch TransferRecord.read(text, scope.app.bundleID) {
            case .success(let record): return try await attempt(record, in: scope)
            case .failure(let reason): return .faulty(reason.detail)
            }
        }
    }

    /// Where a device's name is refused, because its user was erased, nothing of it stays.
    private func take(_ device: ImportedDevice, in scope: Scope) async throws -> LineOutcome {
        for (index, record) in device.records.enumerated() {
            let outcome = try await attempt(record, in: scope)
            if case .taken = outcome { continue }
            if index > 0 { _ = try await attempt(device.logOut, in: scope) }
            return outcome
        }
        return .taken
    }

    private func attempt(_ record: TransferRecord, in scope: Scope) async throws -> LineOutcome {
        do {
            try await take(record, in: scope, by: Apps.who)
            return .taken
        } catch let problem as Problem {
            switch problem.code.status {
            case 403, 409, 410: return .refused(problem)
            case 400, 422: return .faulty("\(problem.code.rawValue): \(problem.detail)")
            default: throw problem
            }
        }
    }

    private func take(_ record: TransferRecord, in scope: Scope, by who: UTF8Text) async throws {
        switch record {
        case .activity(let id, let registration):
            _ = try await register(registration, as: id, in: scope, by: who)
        case .named(let alias, let registration):
            _ = try await register(registration, alias: alias, owner: registration.owner, in: scope, by: who)
        case .end(let id, let reason, let time):
            try await end(id, reason: reason, observedAt: time, in: scope, by: who)
        case .namedEnd(let alias, let owner, let time):
            try await end(alias: alias, owner: owner, reason: .ended, observedAt: time, in: scope, by: who)
        case .installation(let installation, let profile, let subject):
            let claimant = subject.map { Claimant.subject($0, installation) } ?? .any
            _ = try await put(profile, for: installation, in: scope, by: who, claimant: claimant)
        case .logOut(let installation, let time):
            try await logOut(installation, observedAt: time, in: scope, by: who)
        case .token(let slot, let installation, let registration):
            _ = try await register(registration, in: slot, of: installation, in: scope, by: who)
        }
    }
}

extension ImportedLine {
    /// The outcome, as far as it is known without a registry: what can be read counts as taken.
    func outcome(in app: BundleID) -> LineOutcome {
        switch content {
        case .nothing(let outcome): return outcome
        case .device: return .taken
        case .text(let text):
            switch TransferRecord.read(text, app) {
            case .success: return .taken
            case .failure(let reason): return .faulty(reason.detail)
            }
        }
    }
}

extension TransferRecord {
    /// Reads a line; nil is one that is too long.
    ///
    /// - Returns: the record, or what is wrong with it, without repeating anything of it but the names of our own members.
    fileprivate static func read(_ line: [UInt8]?, _ app: BundleID) -> Result<TransferRecord, JSONFaultReason> {
        guard let line else {
            return .failure(JSONFaultReason("It is longer than \(LineReader.maximumLine / 1024) KiB."))
        }
        let value: JSONValue
        do {
            value = try JSONParser.parse(line, maximumDepth: JSONParser.deepestNesting)
        } catch {
            return .failure(JSONFaultReason("It is not JSON: \(error.description)"))
        }
        var json = JSONReader(value)
        let record = TransferRecord.read(&json, now: Date()) { InstallationHash(of: $0, in: app) }
        guard let record else {
            let fault = json.faults.first
            // No further than the first member: what follows may be anything.
            let member = fault?.pointer.split(separator: "/").first.map { "\"\($0)\"" } ?? "It"
            return .failure(JSONFaultReason("\(member) \(fault?.detail ?? "is not a record")."))
        }
        return .success(record)
    }
}
