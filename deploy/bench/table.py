"""The figures: a row a comparison."""


class Table:
    def __init__(self):
        self.rows = []

    def add(self, what, ours, theirs=None, ratio=None, must=None, aim=None, lower_is_better=False):
        meets = None
        if must is not None:
            meets = ratio <= must if lower_is_better else ratio >= must
        self.rows.append({
            "what": what, "ours": ours, "theirs": theirs, "ratio": ratio, "must": must, "aim": aim, "meets": meets,
        })

    def print(self):
        header = ("", "ours", "theirs", "ratio", "must", "aim", "")
        lines = [header] + [
            (row["what"], number(row["ours"]), number(row["theirs"]), number(row["ratio"]), number(row["must"]),
             number(row["aim"]), {True: "ok", False: "MISSED", None: ""}[row["meets"]])
            for row in self.rows
        ]
        widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
        for line in lines:
            print("  ".join(
                cell.ljust(width) if index == 0 else cell.rjust(width)
                for index, (cell, width) in enumerate(zip(line, widths))
            ))


def number(value):
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"
