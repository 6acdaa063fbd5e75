"""The table of published results: what is shipped is in order, and a wrong row is named with line and column."""

from pathlib import Path

import pytest

from tuner.machine.known_machines import (
    COLUMNS,
    KnownMachinesError,
    cpu_key,
    known_machines,
    read_known_machines,
    same_cluster,
    same_cpu,
)

ROW = "Kronos,cluster,AMD Sempron 2500+,8,8,14.53,28.10,900,12300,180,https://example.org/kronos,ATLAS"


def table(tmp_path: Path, *rows: str, head: str = ",".join(COLUMNS)) -> Path:
    file = tmp_path / "table.csv"
    file.write_text("\n".join([head, *rows]) + "\n")
    return file


def test_the_shipped_table_has_kronos_as_it_was_published() -> None:
    (kronos,) = (machine for machine in known_machines() if machine.machine == "Kronos")
    assert (kronos.nodes, kronos.n, kronos.rmax_gflops, kronos.rpeak_gflops) == (8, 12300, 14.53, 28.10)
    assert kronos.percent_of_peak == pytest.approx(51.7, abs=0.05)
    assert kronos.mflops_per_watt == pytest.approx(16.14, abs=0.01)


def test_the_shipped_table_is_large_and_each_row_has_a_source_of_its_own_figure() -> None:
    machines = known_machines()
    assert len(machines) > 100
    assert {machine.kind for machine in machines} == {"cpu", "board", "cluster"}
    figures = [(machine.source, machine.rmax_gflops) for machine in machines]
    assert len(set(figures)) == len(figures), "a figure stands in two rows"


def test_a_peak_that_we_worked_out_says_how() -> None:
    ours = [machine for machine in known_machines() if machine.rpeak_gflops and "top500.org" not in machine.source]
    assert ours
    for machine in ours:
        assert "Rpeak = " in machine.note, machine.machine
        assert f"{machine.cores} cores x " in machine.note, machine.machine
        cores, ghz, flop = (float(word.split()[0]) for word in machine.note.rpartition("Rpeak = ")[2].split(" x "))
        assert machine.rpeak_gflops == pytest.approx(cores * ghz * flop, rel=0.001), machine.machine


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("14.53", "14.53 GFLOPS", "line 2, column rmax_gflops: '14.53 GFLOPS': expected a number above zero"),
        ("14.53", "-1", "line 2, column rmax_gflops: '-1': expected a number above zero"),
        ("14.53", "", "line 2, column rmax_gflops: '': expected a number above zero"),
        ("28.10", "nan", "line 2, column rpeak_gflops: 'nan': expected a number above zero"),
        ("28.10", "9", "line 2, column rpeak_gflops: '9': Rmax is 14.53, which is more than 1.5 times that"),
        ("900", "900W", "line 2, column power_w: '900W': expected a number above zero"),
        ("12300", "12300.5", "line 2, column n: '12300.5': expected a whole number above zero"),
        ("cluster", "rack", "line 2, column kind: 'rack': expected one of cpu, board, cluster"),
        ("https://", "javascript:", "line 2, column source: .* expected an address that begins with https"),
        ("kronos,ATLAS", 'kronos"onclick,ATLAS', "line 2, column source: .* expected an address"),
        ("Kronos", " Kronos", "line 2, column machine: ' Kronos': expected a text without blanks"),
        (",ATLAS", "", "line 2: 11 cells for 12 columns"),
        ("ATLAS", f"ATLAS\n{ROW}", "line 3, column machine: 'Kronos': another row has this name"),
    ],
)
def test_a_wrong_row_is_named_with_its_line_and_column(tmp_path: Path, old: str, new: str, words: str) -> None:
    with pytest.raises(KnownMachinesError, match=words):
        read_known_machines(table(tmp_path, ROW.replace(old, new, 1)))


def test_a_table_with_other_columns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KnownMachinesError, match=r"table\.csv, line 1: expected the columns machine,kind,cpu"):
        read_known_machines(table(tmp_path, ROW, head="machine,issue,arch"))


@pytest.mark.parametrize(
    ("model", "key"),
    [
        ("Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz", "xeon gold 6148"),
        ("Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", "xeon e5-2680 v4"),
        ("Intel(R) Xeon(R) CPU E5-2670 0 @ 2.60GHz", "xeon e5-2670"),
        ("INTEL(R) XEON(R) PLATINUM 8480+", "xeon platinum 8480+"),
        ("AMD EPYC 7763 64-Core Processor", "epyc 7763"),
        ("AMD Ryzen 9 7950X 16-Core Processor", "ryzen 9 7950x"),
        ("AMD RYZEN AI MAX+ 395 w/ Radeon 8060S", "ryzen ai max+ 395"),
        ("13th Gen Intel(R) Core(TM) i9-13900K", "core i9-13900k"),
        ("Intel(R) Core(TM)2 Quad CPU    Q8400  @ 2.66GHz", "core2 quad q8400"),
        ("AMD Sempron(tm)   2500+", "sempron 2500+"),
        ("2 x EPYC 9654", "epyc 9654"),
        ("4x Intel Xeon Gold 6148", "xeon gold 6148"),
        ("Raspberry Pi 5 Model B Rev 1.0", "broadcom bcm2712"),
        ("Raspberry Pi 400 Rev 1.0", "broadcom bcm2711"),
        ("Raspberry Pi 3 Model B Rev 1.2", "broadcom bcm2837"),
        ("Raspberry Pi 3 Model B Plus Rev 1.3", "broadcom bcm2837b0"),
        ("Intel(R) Xeon(R) Processor", ""),
        ("Intel(R) Xeon(R) Processor @ 2.20GHz", ""),
        ("Intel Xeon Processor (Skylake, IBRS)", ""),
        ("AMD EPYC Processor", ""),
        ("x", ""),
        ("", ""),
    ],
)
def test_a_cpu_is_known_by_its_exact_model(model: str, key: str) -> None:
    assert cpu_key(model) == key


def test_only_the_same_model_matches() -> None:
    names = {machine.machine for machine in same_cpu("AMD EPYC 7763 64-Core Processor", known_machines())}
    assert {"LUMI-C", "Anvil"} <= names
    assert "ARCHER2" not in names
    for other in ("AMD EPYC 776", "AMD EPYC 7763P 64-Core Processor", "AMD EPYC Processor", "aarch64", ""):
        assert same_cpu(other, known_machines()) == ()


def test_every_row_can_be_found_by_its_own_cpu() -> None:
    for machine in known_machines():
        assert machine in same_cpu(machine.cpu, known_machines()), machine.machine


def test_a_cluster_of_the_same_name_and_another_peak_is_another_cluster() -> None:
    assert [machine.machine for machine in same_cluster("kronos", 28.096, known_machines())] == ["Kronos"]
    assert same_cluster("Kronos", 56.2, known_machines()) == ()
