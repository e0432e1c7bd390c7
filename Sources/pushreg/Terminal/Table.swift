struct Table: Sendable {
    private let header: [String]
    private var rows: [[String]] = []

    init(_ header: String...) { self.header = header }
    mutating func append(_ cells: String...) { rows.append(cells) }

    var lines: [String] {
        let all = [header.map { $0.uppercased() }] + rows
        let widths = header.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { row in
            let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return String(cells.joined(separator: "  ").reversed().drop { $0 == " " }.reversed())
        }
    }

    func print() throws(CommandFailure) {
        try Output.results.write(lines.map { $0 + "\n" }.joined())
    }
}
