/// The callers that may change a record, as in the guide Access and limits.
///
/// A row is a caller, a column is the owner of the record. u1 and u2 are users, x, y and z installations; `u1@x` is u1 at x.
///
///     y  allowed                        n  403 not-yours
///     i  403 installation-required      2  422, two installations in one request
///     t  allowed: a takeover            -  allowed, and about another record, which is the caller's own
enum OwnerMatrix {
    typealias Table = [(caller: String, cells: [(owner: String, outcome: Character)])]

    /// `none` is an activity that a backend registered, `new` a tombstone that a backend created.
    static let activities = table(
        """
                  u1  u2  x  y  u1@x u2@x u2@y none new
        u1        y   n   n  n  y    n    n    n    y
        u1@x      y   n   y  n  y    n    n    n    y
        u1@y      y   n   n  y  y    n    n    n    y
        u2@x      n   y   y  n  n    y    y    n    y
        u2@y      n   y   n  y  n    y    y    n    y
        client    i   i   i  i  i    i    i    i    i
        client@x  n   n   y  n  y    y    n    n    y
        client@y  n   n   n  y  n    n    y    n    y
        client@z  n   n   n  n  n    n    n    n    y
        sender    y   y   y  y  y    y    y    y    y
        sender@x  y   y   y  y  y    y    y    y    y
        admin     y   y   y  y  y    y    y    y    y
        root      y   y   y  y  y    y    y    y    y
        """
    )

    /// An alias names one activity per installation, otherwise per user, otherwise per app.
    static let namedActivities = table(
        """
                  u1  u2  x  y  u1@x u2@x u2@y none
        u1        y   -   -  -  -    -    -    -
        u1@x      -   -   y  -  y    n    -    -
        u1@y      -   -   -  y  -    -    n    -
        u2@x      -   -   y  -  n    y    -    -
        u2@y      -   -   -  y  -    -    y    -
        client    i   i   i  i  i    i    i    i
        client@x  -   -   y  -  y    y    -    -
        client@y  -   -   -  y  -    -    y    -
        client@z  -   -   -  -  -    -    -    -
        sender    -   -   -  -  -    -    -    y
        sender@x  -   -   y  -  y    y    -    -
        admin     -   -   -  -  -    -    -    y
        root      -   -   -  -  -    -    -    y
        """
    )

    /// The path names the installation. `none` is x without a user, created by a backend; `new` is x before its first call.
    static let installations = table(
        """
                  x  y  u1@x u2@x u2@y none new
        u1        y  y  y    n    n    y    y
        u1@x      y  2  y    n    2    y    y
        u1@y      2  y  2    2    n    2    2
        u2@x      y  2  n    y    2    y    y
        u2@y      2  y  2    2    y    2    2
        client    y  y  y    y    y    y    y
        client@x  y  2  y    y    2    y    y
        client@y  2  y  2    2    y    2    2
        client@z  2  2  2    2    2    2    2
        sender    y  y  y    y    y    y    y
        sender@x  y  2  y    y    2    y    y
        admin     y  y  y    y    y    y    y
        root      y  y  y    y    y    y    y
        """
    )

    /// A call that names the installation's user: another user takes it over.
    static let claims: Table = installations.map { row in
        (row.caller, row.cells.map { ($0.owner, $0.outcome == "n" ? Character("t") : $0.outcome) })
    }

    static func parts(of name: String) -> (user: String?, installation: String?) {
        let parts = name.split(separator: "@").map(String.init)
        return (parts.first { ["u1", "u2"].contains($0) }, parts.last { ["x", "y", "z"].contains($0) })
    }

    private static func table(_ text: String) -> Table {
        let lines = text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        return lines.dropFirst().map { line in (line[0], zip(lines[0], line.dropFirst()).map { ($0, Character($1)) }) }
    }
}

extension OwnerMatrix {
    enum Call: String, CaseIterable {
        case newToken, sameToken, olderToken, untimedToken, tokenAfterTheEnd, end, fullStateItem
        case namedToken, namedEnd
        case startToken, startDeletion, deviceToken, deviceDeletion, widgetToken, widgetDeletion, logOut
        case profile, fullState

        enum Record { case activity, namedActivity, installation }

        var record: Record {
            switch self {
            case .newToken, .sameToken, .olderToken, .untimedToken, .tokenAfterTheEnd, .end, .fullStateItem: .activity
            case .namedToken, .namedEnd: .namedActivity
            default: .installation
            }
        }

        var table: Table {
            switch (self, record) {
            case (.profile, _), (.fullState, _): claims
            case (_, .activity): activities
            case (_, .namedActivity): namedActivities
            case (_, .installation): installations
            }
        }
    }

    struct Cell: CustomStringConvertible {
        let call: Call
        let caller: String
        let owner: String
        let expected: Character
        let number: Int
        var id: String { "cell-\(number)" }
        var token: Int { number * 4 }
        var isRefused: Bool { "ni2".contains(expected) }
        var description: String { "\(caller): \(call) of \(owner)" }
        var phone: String { "\(parts(of: owner).installation ?? "x")-\(number)" }

        static func all() -> [Cell] {
            var cells: [Cell] = []
            for call in Call.allCases {
                for row in call.table {
                    // The path of a full state always names an installation.
                    if call == .fullStateItem, row.caller == "client" { continue }
                    for (owner, outcome) in row.cells {
                        cells.append(
                            Cell(call: call, caller: row.caller, owner: owner, expected: outcome, number: cells.count)
                        )
                    }
                }
            }
            return cells
        }
    }
}
