# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx configuration. The tables of features are made from .ini files, so that
there is one list."""

import pathlib
import sys

from docutils import nodes
from docutils.parsers.rst import Directive

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import feature_tables  # noqa: E402

TOP = pathlib.Path(__file__).resolve().parents[2]

project = "mlx4dv"
copyright = "The mlx4dv authors"  # noqa: A001 (Sphinx's own name)
release = version = (TOP / "VERSION").read_text(encoding="ascii").strip()
root_doc = "index"
exclude_patterns = []
html_theme = "alabaster"
html_theme_options = {"description": "ConnectX-3 for DPDK, over direct verbs"}
html_show_copyright = False
highlight_language = "none"


def table(lines, widths):
    """Of rows of cells; the first one is the heading."""
    made = nodes.table()
    group = nodes.tgroup(cols=len(widths))
    made += group
    group += [nodes.colspec(colwidth=width) for width in widths]
    for part, content in ((nodes.thead(), lines[:1]), (nodes.tbody(), lines[1:])):
        group += part
        for cells in content:
            row = nodes.row()
            for cell in cells:
                entry = nodes.entry()
                entry += nodes.paragraph(text=str(cell))
                row += entry
            part += row
    return made


class Features(Directive):
    """.. features:: what net_mlx4dv has."""

    def run(self):
        self.state.document.settings.env.note_dependency(str(feature_tables.OURS))
        return [table([("Feature", "")] + [
            (name, feature_tables.WORDS[value])
            for features in feature_tables.read(feature_tables.OURS).values()
            for name, value in features.items()], (40, 10))]


class Comparison(Directive):
    """.. comparison:: SECTION, of the file; or nothing for the counts of all."""

    optional_arguments = 1
    final_argument_whitespace = True

    def run(self):
        for path in (feature_tables.OURS, feature_tables.COMPARISON):
            self.state.document.settings.env.note_dependency(str(path))
        rows = feature_tables.rows()
        heading = ("", "net_mlx4dv", "net_mlx4", "net_mlx5")
        if not self.arguments:
            return [table([heading, *feature_tables.counts(rows)], (40, 12, 12, 12))]
        words = feature_tables.WORDS
        return [table([heading + ("Why not",)] + [
            (row.name, words[row.ours], words[row.mlx4], words[row.mlx5], row.why())
            for row in rows if row.section == self.arguments[0]], (26, 12, 12, 12, 38))]


def setup(app):
    app.add_directive("features", Features)
    app.add_directive("comparison", Comparison)
    return {"parallel_read_safe": True}
