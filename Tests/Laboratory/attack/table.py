"""Rows as text."""

COLUMNS = [
    ("attack", "attack"), ("offered", "offered"), ("connections", "conns"), ("memory", "memory MiB before/peak/after"),
    ("service_cpu", "service CPU"), ("postgres_cpu", "Postgres CPU"), ("p99", "p99 ÷ calm"), ("success", "served"),
    ("verdict", "verdict"),
]


def cells(row):
    memory = row.get("memory")
    p99, calm = row.get("p99"), row.get("calm_p99")
    success = row.get("success")
    return [
        row["attack"], row["offered"] or "–", str(row.get("connections", "–")),
        "/".join(f"{value:.0f}" for value in memory) if memory else "–",
        f"{row['service_cpu']:.1f} s" if "service_cpu" in row else "–",
        f"{row['postgres_cpu']:.1f} s" if "postgres_cpu" in row else "–",
        f"{p99 * 1000:.0f} ÷ {calm * 1000:.0f} ms" if p99 is not None and calm else "–",
        f"{success * 100:.1f} %" if success is not None else "–",
        "holds" if not row["faults"] else "BROKEN",
    ]


def text(rows):
    lines = [[title for _, title in COLUMNS], *map(cells, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(COLUMNS))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)
