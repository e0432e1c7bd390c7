import RegistryCore

/// Tokens by time since their last confirmation, as a coloured table.
enum HeatMap {
    static func rows(_ tokens: [RegistryStatistics.Tokens]) -> [TemplateContext] {
        RegistryStatistics.emptyAges.enumerated().map { index, group in
            [
                "age": .text(group.upTo.map { "up to \(DisplayText.span($0))" } ?? "longer"),
                "cells": .rows(
                    tokens.map { kind in
                        let count = kind.ages.indices.contains(index) ? kind.ages[index].count : 0
                        return [
                            "heatCount": .text(DisplayText.count(count)),
                            "heatLevel": .text(String(level(count, of: kind.count))),
                        ]
                    }
                ),
            ]
        }
    }

    /// 0 for none to 5 for nearly all.
    private static func level(_ count: Int, of total: Int) -> Int {
        guard count > 0, total > 0 else { return 0 }
        return 1 + min(4, count * 5 / total)
    }
}
