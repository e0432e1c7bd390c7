"""All rounds as one table, with a row for each kind of fault."""

import statistics

HEADINGS = ["fault", "rounds", "Patroni's part", "multihost: ours min/median/max", "haproxy: ours min/median/max",
            "of that after HAProxy's own", "slowest response mh/ha", "later pause mh/ha", "old primary's writes", "lost", "stale"]


def spread(values):
    return f"{min(values):.2f} / {statistics.median(values):.2f} / {max(values):.2f}"


def line(name, rounds, losses):
    def of(instance, figure):
        return [one.instances[instance][figure] for one in rounds]

    pauses = [one.cluster_pause for one in rounds]
    behind = of("haproxy", "after_haproxy")
    mine = [(one.begin, one.end) for one in rounds]
    lost, stale = (sum(1 for at in times if any(begin <= at <= end for begin, end in mine)) for times in losses)
    return [
        name, str(len(rounds)), f"{min(pauses):.1f}–{max(pauses):.1f}",
        spread(of("multihost", "ours")), spread(of("haproxy", "ours")),
        f"{statistics.median(behind):.2f} / {max(behind):.2f}",
        " / ".join(f"{max(of(instance, 'slowest')):.1f}" for instance in ("multihost", "haproxy")),
        " / ".join(f"{max(of(instance, 'later')):.1f}" for instance in ("multihost", "haproxy")),
        str(sum(one.old_writes for one in rounds)), str(lost), str(stale),
    ]


def text(rounds, losses):
    names = list(dict.fromkeys(one.fault for one in rounds))
    lines = [HEADINGS, *(line(name, [one for one in rounds if one.fault == name], losses) for name in names)]
    widths = [max(len(cells[column]) for cells in lines) for column in range(len(HEADINGS))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip() for cells in lines)
