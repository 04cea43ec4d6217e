# SPDX-License-Identifier: BSD-3-Clause
"""The comparison with net_mlx4 and net_mlx5 in the guides: what it says of them is what
DPDK's own tables say, and what is lacking has its reason."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "doc" / "guides"))

import feature_tables  # noqa: E402

SECTIONS = ["Features", "rte_flow items", "rte_flow actions"]


@pytest.fixture(scope="module")
def upstream():
    """The folder of DPDK's tables, in the source that the driver's headers are from."""
    where = subprocess.run([ROOT / "devtools" / "dpdk-sdk.sh", "--where"], check=True, text=True,
                           stdout=subprocess.PIPE, timeout=60).stdout.strip()
    folder = pathlib.Path(where) / "doc" / "guides" / "nics" / "features"
    version = pathlib.Path(where) / "VERSION"
    if not where or not folder.is_dir() or not version.read_text().startswith("22.11."):
        pytest.skip("no source of DPDK 22.11 here")
    return folder


def tables(path):
    return {section: {name: value.split(";")[0].strip() for name, value in features.items()}
            for section, features in feature_tables.read(path).items()}


def test_the_others_as_they_say_themselves(upstream):
    for driver in ("mlx4", "mlx5"):
        wanted = tables(upstream / (driver + ".ini"))
        assert list(wanted) == SECTIONS
        for section in SECTIONS:
            said = {row.name: getattr(row, driver) for row in feature_tables.rows()
                    if row.section == section and getattr(row, driver) != "-"}
            assert said == wanted[section], (driver, section)


def test_order(upstream):
    """As in DPDK, whose list has every name that there is."""
    for section, features in tables(upstream / "default.ini").items():
        names = list(feature_tables.read(feature_tables.COMPARISON)[section])
        assert names == [name for name in features if name in names], section


def test_every_feature_of_ours_is_in_it():
    rows = feature_tables.rows()
    for section, features in feature_tables.read(feature_tables.OURS).items():
        said = {row.name: row.ours for row in rows
                if row.section == section and row.ours != "-"}
        assert said == features, section


def test_reasons():
    lacking = [row for row in feature_tables.rows() if row.ours == "-"]
    assert lacking
    for row in lacking:
        assert row.reason in feature_tables.REASONS, row.name
        assert row.why() != ""
    for row in feature_tables.rows():
        assert row.ours == "-" or row.reason == "", "%s is there now" % row.name


def test_counts():
    rows = feature_tables.rows()
    table = {what: numbers for what, *numbers in feature_tables.counts(rows)}
    ours, mlx4, mlx5 = table["in all"]
    assert ours == sum(len(one) for one in feature_tables.read(feature_tables.OURS).values())
    assert table["of those of net_mlx4"][1] == mlx4
    assert table["of those of net_mlx5"][2] == mlx5
    lacking = [numbers[0] for what, numbers in table.items() if what.startswith("not there")]
    assert ours + sum(lacking) == len(rows)
