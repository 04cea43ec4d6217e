# SPDX-License-Identifier: BSD-3-Clause
"""Our driver, the stock one, plain verbs and the floor, turn about, so that what else
the machine does hits all alike."""

import json

from . import machine
from .perf import FLOOR, OURS, STOCK, VERBS, PerfError, Progress, Table, measure, split_case

DRIVERS = (OURS, STOCK, VERBS, FLOOR)
CASES = ("rx", "rx_offload", "rx_vlan", "rx_stamps", "rx_scatter", "rx_empty", "tx",
         "tx_fast_free", "tx_checksum", "tx_vlan", "tx_2seg", "tx_16seg", "tx_64pools",
         "tx_inline", "tx_empty", "forward")
KNOWN = {VERBS: ("rx", "tx", "tx_single"), FLOOR: ("rx", "tx_fast_free")}
# A case of ours and what the others have that is nearest to it.
NEAREST = {
    STOCK: {"tx_fast_free": "tx", "tx_inline": "tx", "tx_vlan": "tx",
            "rx_vlan": "rx_offload", "rx_stamps": "rx_offload"},
    VERBS: {"tx_fast_free": "tx", "tx_inline": "tx"},
    FLOOR: {"rx_offload": "rx", "rx_vlan": "rx", "rx_stamps": "rx", "tx": "tx_fast_free",
            "tx_checksum": "tx_fast_free", "tx_inline": "tx_fast_free"},
}


def cases_of(driver, cases):
    """Of the asked for, those that a driver is to be run with."""
    if driver not in KNOWN:
        near = NEAREST.get(driver, {})
        return list(dict.fromkeys(
            [*cases, *(near[split_case(case)[0]] for case in cases
                       if split_case(case)[0] in near)]))
    wanted = {split_case(case)[0] for case in cases}
    near = {NEAREST[driver].get(name, name) for name in wanted}
    return [case for case in KNOWN[driver]
            if case in near or case == "tx_single" and wanted & {"tx", "tx_fast_free"}]


def compare(drivers, cases, rounds, options, progress=None, run=measure):
    """A Table. Instructions are counted in the first round only: they do not change."""
    table = Table()
    for turn in range(rounds):
        for driver in drivers:
            chosen = cases_of(driver, cases)
            # The processes of one width each, ours only: the others have no paths by width.
            if driver == STOCK:
                chosen = list(dict.fromkeys(split_case(case)[0] for case in chosen))
            if not chosen:
                continue
            if progress:
                progress.step("round %d, %s" % (turn + 1, driver))
            more = ["--no-instructions"] if turn else []
            for row in run(driver, chosen, [*options, *more]):
                table.add(row)
    return table


def document(table, command):
    return {"machine": dict(machine.describe(), command=command), "results": table.results()}


def find(results, driver, case):
    for result in results:
        if (result["driver"], result["case"]) == (driver, case):
            return result
    return None


def nearest(results, driver, case):
    """What a driver has for a case of ours, or for the one nearest to it, with its name."""
    name = split_case(case)[0]
    found = find(results, driver, name)
    if found is None or "skipped" in found:
        found = find(results, driver, NEAREST.get(driver, {}).get(name)) or found
    return found if found and "skipped" not in found else None


def figure(result, what):
    if result is None:
        return None
    if what == "cycles":
        return result.get("cycles_per_packet", {}).get("median")
    return result.get("instructions_per_packet")


def ratio(results, case, other, what):
    """Ours divided by another's; None when one of them is missing."""
    ours, its = figure(find(results, OURS, case), what), figure(nearest(results, other, case), what)
    return ours / its if ours is not None and its else None


def number(value, digits=1):
    return "-" if value is None else "%.*f" % (digits, value)


def cell(results, driver, case, what):
    result = find(results, driver, case)
    if result is not None and "skipped" in result:
        return "cannot"
    return number(figure(result, what))


def rows(results, what):
    """The table's lines, each a list of words: first the head."""
    drivers = [name for name in DRIVERS if any(one["driver"] == name for one in results)]
    drivers += sorted({one["driver"] for one in results} - set(DRIVERS))
    others = [name for name in drivers if name != OURS] if OURS in drivers else []
    yield ["case", *drivers, *("/ " + name for name in others)]
    for case in dict.fromkeys(one["case"] for one in results):
        yield [case, *(cell(results, name, case, what) for name in drivers),
               *(number(ratio(results, case, name, what), 2) for name in others)]


def notes(results):
    """What the table leaves out."""
    for one in results:
        if "skipped" in one:
            yield "%s, %s: %s" % (one["driver"], one["case"], one["skipped"])
    for driver, pairs in NEAREST.items():
        for case, near in pairs.items():
            if nearest(results, driver, case) is find(results, driver, near) is not None and \
                    find(results, OURS, case):
                yield "%s / %s: against its %s" % (case, driver, near)


def laid_out(table):
    """Lines of columns: the first word of each to the left, the others to the right."""
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    return ["  " + "  ".join(word.ljust(width) if i == 0 else word.rjust(width)
                             for i, (word, width) in enumerate(zip(row, widths))).rstrip()
            for row in table]


def text(results):
    """All of it, for a terminal."""
    lines = []
    for what, head in (("instructions", "instructions per packet"),
                       ("cycles", "cycles (TSC) per packet, medians")):
        if not any(figure(one, what) is not None for one in results):
            continue
        lines += ["", head + "; rx_empty and tx_empty: per call", ""]
        lines += laid_out(list(rows(results, what)))
    told = list(notes(results))
    return "\n".join(lines + ([""] + ["  " + note for note in told] if told else []))


def write_json(path, content):
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
            file.write("\n")
    except OSError as error:
        raise PerfError("%s: %s" % (path, error.strerror)) from None
