"""The figures: one row per comparison."""


class Table:
    def __init__(self):
        self.rows = []

    def add(self, what, ours, theirs=None, ratio=None, must=None, aim=None, lower_is_better=False, generator=None):
        meets = None
        if must is not None:
            meets = ratio <= must if lower_is_better else ratio >= must
        self.rows.append({
            "what": what, "ours": ours, "theirs": theirs, "ratio": ratio, "must": must, "aim": aim, "meets": meets,
            "generator": generator,
        })

    def compare(self, what, ours, theirs, must=None, aim=None, lower_is_better=False):
        """Adds two figures, with the load generator's share of the machine's CPU during each measurement."""
        self.add(what, ours.value, theirs.value, ours.value / theirs.value, must, aim, lower_is_better,
                 [ours.generator, theirs.generator])

    def print(self):
        header = ("", "ours", "theirs", "ratio", "must", "aim", "", "generator")
        lines = [header] + [
            (row["what"], number(row["ours"]), number(row["theirs"]), number(row["ratio"]), number(row["must"]),
             number(row["aim"]), {True: "ok", False: "MISSED", None: ""}[row["meets"]], shares(row["generator"]))
            for row in self.rows
        ]
        widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
        for line in lines:
            print("  ".join(
                cell.ljust(width) if index == 0 else cell.rjust(width)
                for index, (cell, width) in enumerate(zip(line, widths))
            ).rstrip())


def number(value):
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


def shares(values):
    return "" if values is None else " / ".join(f"{value:.0%}" for value in values)
