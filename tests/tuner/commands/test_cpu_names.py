"""CPUs by the names under which they are sold."""

import json

import pytest
from as_user import Run

from tuner.asks.dat import DatAsk
from tuner.commands.cpu_names import read_cpu, sold_cpus
from tuner.commands.described_dat import described_dat


@pytest.mark.parametrize(
    ("sold", "archspec", "flop_per_cycle"),
    [
        ("Ryzen 9 7950X", "zen4", 16),
        ("AMD Ryzen 9 7950X 16-Core Processor", "zen4", 16),
        ("Ryzen 7 5700U", "zen2", 16),
        ("EPYC 9654", "zen4", 16),
        ("AMD EPYC 7763 64-Core Processor", "zen3", 16),
        ("AMD Ryzen AI 9 HX 370", "zen5", 16),
        ("Xeon Gold 6248", "cascadelake", 32),
        ("Intel(R) Xeon(R) Silver 4210 CPU @ 2.20GHz", "cascadelake", 16),
        ("Xeon Platinum 8380", "icelake", 32),
        ("Xeon E5-2690 v4", "broadwell", 16),
        ("Xeon E5-2670", "sandybridge", 8),
        ("i7-12700K", "alderlake", 16),
        ("12th Gen Intel(R) Core(TM) i7-12700K", "alderlake", 16),
        ("Core i9-10980XE", "cascadelake", 32),
        ("core i5 4590", "haswell", 16),
        ("Graviton3", "neoverse_v1", 16),
        ("Grace", "neoverse_v2", 16),
        ("A64FX", "a64fx", 32),
        ("Raspberry Pi 5", "neoverse_n1", 8),
        ("Cortex-A76", "neoverse_n1", 8),
        ("Apple M2 Max", "m2", 16),
        ("VisionFive 2", "u74mc", 2),
        ("SiFive U74", "u74mc", 2),
    ],
)
def test_a_cpu_is_known_by_the_name_it_is_sold_under(sold: str, archspec: str, flop_per_cycle: int) -> None:
    cpu = read_cpu(sold)
    assert cpu.name in {f"{sold} ({archspec})", archspec}
    assert cpu.core.flop_per_cycle == flop_per_cycle


def test_each_line_of_the_list_names_a_cpu_that_archspec_knows() -> None:
    for one in sold_cpus():
        assert one.described(one.name).core.flop_per_cycle >= 2, one


def test_the_list_is_printed(hpltune: Run) -> None:
    listed = json.loads(hpltune("dat", "--cpu", "list", "--json").stdout)
    assert {"name": "EPYC 9??4*", "archspec": "zen4", "flop_per_cycle": 16, "domain_cores": None} in listed["sold"]
    assert "EPYC 9??4*" in hpltune("dat", "--cpu", "list").stdout


def test_a_decimal_size_is_told_from_a_binary_one() -> None:
    binary, decimal = (described_dat(DatAsk(cores=4, memory=memory)) for memory in ("8GiB", "8GB"))
    assert decimal.params.N < binary.params.N
    assert not any("decimal" in reason for reason in binary.reasons)
    told = "Memory: 8GB is decimal, 7.5 GiB. If the node has a round number of GiB, write it with GiB."
    assert told in decimal.reasons
