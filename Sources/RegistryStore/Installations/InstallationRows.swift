import Foundation
import PostgresDriver
import RegistryCore

extension InstallationRecord {
    static let columns = Columns(
        .one("i.installation_hash"),
        .one("i.touched_at"),
        .one("i.subject"),
        .json("i.aliases"),
        .one("i.aliases_observed_at"),
        .json("i.metadata"),
        .one("i.metadata_observed_at"),
        .one("i.full_state_at"),
        .one("i.removed_at"),
        .constant([]),
        as: InstallationRecord.init
    )
}

extension InstallationRecord.Token {
    static let columns = Columns(
        .one("r.kind"),
        .one("nullif(r.attributes_type, '')"),
        .one("substr(r.token_digest, 1, 4)"),
        .one("r.observed_at"),
        .one("r.confirmed_at"),
        .one("r.verdict"),
        as: InstallationRecord.Token.init
    )
}

/// An installation's row `i` right after the request locked it and merged a profile `r`.
struct MergedProfile {
    let givenAt: Date
    let aliasesObservedAt: Date?
    let metadataObservedAt: Date?
    let removedAt: Date?
    let isOfAnother: Bool
    let serverTime: Date

    static let columns = Columns(
        .one("r.given_at"),
        .one("i.aliases_observed_at"),
        .one("i.metadata_observed_at"),
        .one("i.removed_at"),
        .one("coalesce(i.subject <> r.subject, false)"),
        .one("i.touched_at"),
        as: MergedProfile.init
    )
}
