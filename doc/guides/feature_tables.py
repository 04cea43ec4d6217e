# SPDX-License-Identifier: BSD-3-Clause
"""The tables of features, read from their .ini files: for the guides (conf.py), and
for the tests, which need no Sphinx."""

import configparser
import pathlib

FEATURES = pathlib.Path(__file__).resolve().parent / "nics" / "features"
OURS = FEATURES / "mlx4dv.ini"
COMPARISON = FEATURES / "compare.ini"
WORDS = {"Y": "yes", "P": "partial", "I": "indirect", "-": ""}
REASONS = {
    "hardware": "the adapter cannot",
    "kernel": "the kernel's drivers do not let it",
    "untried": "not built or run there",
    "undone": "not done",
}


def read(path):
    """{section: {feature: value}}, in the file's order."""
    parser = configparser.ConfigParser(comment_prefixes=(";",), delimiters=("=",))
    parser.optionxform = str
    parser.read_string(path.read_text(encoding="ascii"))
    return {name: dict(parser[name]) for name in parser.sections()}


class Row:
    """A feature, and what of it each of the three drivers has."""

    def __init__(self, section, name, ours, theirs):
        self.section, self.name = section, name
        self.ours = ours
        facts, _, reason = (part.strip() for part in theirs.partition("|"))
        self.mlx4, self.mlx5 = facts.split()
        self.reason, _, self.detail = (part.strip() for part in reason.partition(":"))

    def why(self):
        """What to say of one that net_mlx4dv has not."""
        if self.ours != "-":
            return ""
        return "%s%s" % (REASONS[self.reason], ": " + self.detail if self.detail else "")


def rows():
    """Of every feature that one of the three has."""
    ours = read(OURS)
    made = [Row(section, name, ours.get(section, {}).get(name, "-"), theirs)
            for section, features in read(COMPARISON).items()
            for name, theirs in features.items()]
    return [row for row in made if (row.ours, row.mlx4, row.mlx5) != ("-", "-", "-")]


def counts(of):
    """[(what, net_mlx4dv, net_mlx4, net_mlx5)] for these rows."""
    def has(driver):
        return {row.name for row in of if getattr(row, driver) != "-"}

    ours, mlx4, mlx5 = has("ours"), has("mlx4"), has("mlx5")
    table = [("in all", len(ours), len(mlx4), len(mlx5)),
             ("of those of net_mlx4", len(ours & mlx4), len(mlx4), len(mlx5 & mlx4)),
             ("of those of net_mlx5", len(ours & mlx5), len(mlx4 & mlx5), len(mlx5)),
             ("beyond both others", len(ours - mlx4 - mlx5), "", "")]
    for reason, words in REASONS.items():
        lacking = sum(row.ours == "-" and row.reason == reason for row in of)
        table.append(("not there: " + words, lacking, "", ""))
    return table
