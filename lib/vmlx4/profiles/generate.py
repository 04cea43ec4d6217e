#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""generate.py OUTPUT FILE.conf...: the card models as a C table, in this order.

A file has lines "name = value"; # begins a comment, in which the source of the
values stands. The stem of its name is the name of the model. "like = MODEL"
as the first entry takes what the file does not say from a model that comes earlier.
"""

import pathlib
import re
import sys

U16, U32, U64 = 2**16 - 1, 2**32 - 1, 2**64 - 1


class Bad(Exception):
    """A fault in a file: where, what, and the cure."""


def text(value):
    if not re.fullmatch(r"[ -!#-\[\]-~]{1,60}", value):
        raise ValueError("write 1 to 60 ASCII characters without quotes and backslashes")
    return '"%s"' % value


def version(value):
    match = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", value)
    if match is None or max(map(int, match.groups())) > U16:
        raise ValueError("write a version like 2.42.5000")
    major, minor, sub = map(int, match.groups())
    return "UINT64_C(%#x)" % (major << 32 | minor << 16 | sub)


def yes_no(value):
    if value not in ("yes", "no"):
        raise ValueError("write yes or no")
    return "true" if value == "yes" else "false"


def number(least, most):
    def convert(value):
        if not re.fullmatch(r"\d+|0x[0-9a-fA-F]+", value) or \
                not least <= int(value, 0) <= most:
            raise ValueError("write a number from %d to %d" % (least, most))
        return "UINT64_C(%s)" % value if most > U32 else value + "u"
    return convert


# The fields of struct vmlx4_profile.
FIELDS = {
    "description": text,
    "part_id": number(1, U16),
    "hw_ver": number(0, U32),
    "fw_ver": version,
    "board_id": text,
    "speed_mbps": number(1, U32),
    "device_cap_flags": number(0, U64),
    "max_qp": number(1, U32),
    "max_qp_wr": number(1, U32),
    "max_sge": number(1, 62),
    "max_sge_rd": number(0, 62),
    "max_cq": number(1, U32),
    "max_cqe": number(1, U32),
    "max_mr": number(1, U32),
    "max_pd": number(1, U32),
    "max_srq": number(0, U32),
    "max_srq_wr": number(0, U32),
    "max_srq_sge": number(0, U32),
    "max_ah": number(0, U32),
    "max_mcast_grp": number(0, U32),
    "max_mcast_qp_attach": number(0, U32),
    "max_pkeys": number(1, U16),
    "max_rss_table": number(0, 2**15),
    "max_tso": number(0, U32),
    "core_clock_khz": number(0, U32),
    "bf_reg_size": number(0, 4096),
    "bf_regs_per_page": number(0, 64),
    "tunnel_offload": yes_no,
    "scatter_fcs": yes_no,
    "roce_v2": yes_no,
}


def parse_entry(line, models, fields):
    """One line into fields; ValueError with the cure."""
    name, equals, value = (part.strip() for part in line.partition("="))
    if not equals:
        raise ValueError('"%s": write NAME = VALUE' % line)
    if name == "like":
        if fields:
            raise ValueError('"like" must be the first entry, and once: move it to the top')
        if value not in models:
            raise ValueError('like: "%s": name a model that comes earlier in meson.build (%s)'
                             % (value, ", ".join(models) or "there is none"))
        fields["like"] = value
        return
    if name not in FIELDS:
        raise ValueError('"%s": there is no such field: use one of %s'
                         % (name, ", ".join(FIELDS)))
    if name in fields:
        raise ValueError("%s: it stands here twice: remove one of them" % name)
    try:
        fields[name] = FIELDS[name](value)
    except ValueError as cure:
        raise ValueError('%s: "%s": %s' % (name, value, cure)) from None


def parse(path, models):
    """The fields of one file, with those of the model that it is like."""
    fields = {}
    lines = path.read_text(encoding="utf-8").splitlines()
    for index, line in enumerate(lines, 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        try:
            parse_entry(line, models, fields)
        except ValueError as cure:
            raise Bad("%s:%d: %s" % (path, index, cure)) from None
    own = {name: value for name, value in fields.items() if name != "like"}
    fields = dict(models.get(fields.get("like"), {}), **own)
    missing = [name for name in FIELDS if name not in fields]
    if missing:
        raise Bad("%s:%d: %s: missing: add it, or begin with like = MODEL"
                  % (path, len(lines), missing[0]))
    return fields


def generate(paths):
    models = {}
    for path in paths:
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,15}", path.stem) or path.stem in models:
            raise Bad("%s: give the file another name: a model's is 1 to 16 of a-z, 0-9 and -, "
                      "and its own" % path)
        models[path.stem] = parse(path, models)
    out = ["/* SPDX-License-Identifier: BSD-3-Clause */", "",
           "/* Made by generate.py of the .conf files: change those. */", "",
           '#include "profile.h"', "", "const struct vmlx4_profile vmlx4_profiles[] = {"]
    for model, fields in models.items():
        out += ["\t{", '\t\t.name = "%s",' % model]
        out += ["\t\t.%s = %s," % (name, fields[name]) for name in FIELDS]
        out += ["\t},"]
    out += ["};", "", "const unsigned int vmlx4_profile_count = %d;" % len(models), ""]
    return "\n".join(out)


def main():
    output, *files = map(pathlib.Path, sys.argv[1:])
    try:
        output.write_text(generate(files), encoding="utf-8")
    except (Bad, OSError, UnicodeDecodeError) as fault:
        sys.exit(str(fault))


if __name__ == "__main__":
    main()
