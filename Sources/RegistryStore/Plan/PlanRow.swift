import Crypto
import Foundation
import PostgresDriver
import RegistryCore

enum PlanRuling: String, CaseIterable {
    case update
    case tokenPending = "token-pending"
    case noUpdateToken = "no-update-token"
    case dismissed
    case leased
    case startFailed = "start-failed"
    case backOff = "back-off"
    case start
    case startUnconfirmed = "start-unconfirmed"
    case noStartToken = "no-start-token"

    /// The rulings after which an ordinary notification may be sent.
    static let alerts: [PlanRuling] = [.noUpdateToken, .dismissed, .startFailed, .startUnconfirmed, .noStartToken]
}

struct PlanRow {
    let ruling: PlanRuling
    let installation: InstallationHash?
    let retryAt: Date?
    let startToken: PushToken?
    let lease: Lease?
    let deviceToken: PushToken?
    let activity: AliasRow?

    struct Lease {
        let id: LeaseID
        let leasedUntil: Date
        let attempt: Int
    }

    /// The ruling is to start, but another planner was faster.
    var isUndecided: Bool { ruling == .start && lease == nil }

    static let columns = Columns(
        .raw("p.ruling"),
        .one("p.installation_hash"),
        .one("p.retry_at"),
        .one("p.start_token"),
        lease,
        .one("dt.token"),
        AliasRow.optional(of: "cur", key: "cur.activity_key"),
        as: PlanRow.init
    )

    private static let lease = Columns(
        .one("p.lease_id"),
        .one("p.leased_until"),
        .one("p.attempt"),
        as: { (id: LeaseID?, until: Date?, attempt: Int?) -> Lease? in
            guard let id, let until, let attempt else { return nil }
            return Lease(id: id, leasedUntil: until, attempt: attempt)
        }
    )
}

extension PlanRow {
    /// - Throws: ``UnreadableRow`` if the row lacks the facts of its ruling.
    func entry(of alias: Alias) throws -> PlanEntry {
        PlanEntry(installation: installation, step: try step(of: alias))
    }

    private func step(of alias: Alias) throws -> PlanStep {
        switch ruling {
        case .update: .update(try given(activity?.activity))
        case .start: .start(try given(startToken), try startLease(of: alias))
        case .tokenPending: .wait(.tokenPending, retryAt: try given(retryAt))
        case .leased: .wait(.leased, retryAt: try given(retryAt))
        case .backOff: .wait(.backOff, retryAt: try given(retryAt))
        case .noUpdateToken: .alert(.noUpdateToken, deviceToken)
        case .dismissed: .alert(.dismissed, deviceToken)
        case .startFailed: .alert(.startFailed, deviceToken)
        case .startUnconfirmed: deviceToken.map { .alert(.startUnconfirmed, $0) } ?? .none(.startUnconfirmed)
        case .noStartToken: deviceToken.map { .alert(.noStartToken, $0) } ?? .none(.noStartToken)
        }
    }

    private func startLease(of alias: Alias) throws -> StartLease {
        let (lease, installation) = (try given(lease), try given(installation))
        let subject = Data("\(alias)\0".utf8) + installation.bytes
        return StartLease(
            id: lease.id,
            leasedUntil: lease.leasedUntil,
            collapseID: Hexadecimal.encode(Array(SHA256.hash(data: subject)).prefix(16)),
            attempt: lease.attempt
        )
    }

    private func given<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw UnreadableRow(detail: "a plan's row lacks what it says: \(ruling.rawValue)") }
        return value
    }
}
