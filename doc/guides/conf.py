# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx configuration. The features table of the driver is made from its .ini
file, so that there is one list."""

import configparser
import pathlib

from docutils import nodes
from docutils.parsers.rst import Directive

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


class Features(Directive):
    """.. features:: FILE, relative to this folder."""

    required_arguments = 1

    def run(self):
        path = pathlib.Path(__file__).parent / self.arguments[0]
        self.state.document.settings.env.note_dependency(str(path))
        parser = configparser.ConfigParser(comment_prefixes=(";",), delimiters=("=",))
        parser.optionxform = str
        parser.read_string(path.read_text(encoding="ascii"))
        table = nodes.table()
        group = nodes.tgroup(cols=2)
        table += group
        group += [nodes.colspec(colwidth=40), nodes.colspec(colwidth=10)]
        body = nodes.tbody()
        group += body
        for section in parser.sections():
            for name, value in parser[section].items():
                body += self.row(name, {"Y": "yes", "P": "partial"}[value])
        return [table]

    @staticmethod
    def row(*cells):
        row = nodes.row()
        for cell in cells:
            entry = nodes.entry()
            entry += nodes.paragraph(text=cell)
            row += entry
        return row


def setup(app):
    app.add_directive("features", Features)
    return {"parallel_read_safe": True}
