import RegistryCore

extension Output {
    /// A line of JSON for each item, or a table.
    func list<Item: JSONEncodable>(
        _ items: [Item],
        asJSON: Bool,
        _ header: [String],
        row: (Item) -> [String]
    ) throws(CommandFailure) {
        guard asJSON else { return try table(header, items.map(row)) }
        for item in items { try line(item.jsonLine) }
    }

    func table(_ header: [String], _ rows: [[String]]) throws(CommandFailure) {
        let all = [header.map { $0.uppercased() }] + rows
        let widths = header.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        let lines = all.map { row in
            let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return String(cells.joined(separator: "  ").reversed().drop { $0 == " " }.reversed()) + "\n"
        }
        try write(lines.joined())
    }
}
