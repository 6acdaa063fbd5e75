"""An HPL.dat for a machine of which only a few figures are known."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from hpl.dat_parse import parse
from hpl.sizing import memory_bytes, process_grids
from tuner.asks.dat import DatAsk
from tuner.commands.described_dat import described_dat
from tuner.errors import UsageError
from tuner.units import parse_bytes

Run = Callable[..., CompletedProcess[str]]
LARGE = DatAsk(nodes=16, cores=64, memory="256GiB", network="100g")


def test_n_fills_most_of_the_memory_in_whole_blocks_and_fits_it() -> None:
    result = described_dat(LARGE)
    params = result.params
    assert params.N % params.NB == 0
    assert 0.78 < 8 * params.N**2 / (16 * 256 * 2**30) <= 0.8
    assert params.ranks * memory_bytes(params) < 16 * 256 * 2**30
    assert any("80% of 16 nodes with 256.0 GiB each" in reason for reason in result.reasons)


def test_every_line_of_the_file_has_its_reason() -> None:
    words = " ".join(described_dat(LARGE).reasons)
    lines = ("N=", "NB=", "PMAP=", "P=", "Q=", "PFACT=", "RFACT=", "NBMIN=", "NDIV=", "BCAST=", "DEPTH=", "SWAP=")
    assert [line for line in (*lines, "L1", "EQUIL", "alignment", "threshold") if line not in words] == []


def test_ranks_and_threads_together_take_all_cores_and_both_starters_say_the_same() -> None:
    result = described_dat(LARGE)
    facts = dict(result.facts)
    assert result.params.ranks * (facts["threads_per_rank"] or 0) == 16 * 64
    mpirun, srun = result.commands
    assert "-np 128 --hostfile hosts --map-by ppr:8:node:PE=8" in mpirun
    assert "one in each line" in result.note
    alone = described_dat(DatAsk(cores=64, memory="256GiB"))
    assert ("hostfile" in alone.commands[0], alone.note) == (False, "")
    assert "-N 16 --ntasks-per-node=8 --cpus-per-task=8" in srun


@pytest.mark.parametrize(
    ("cpu", "cores", "layout"),
    [
        ("A64FX", 48, (4, 12)),
        ("a64fx", 48, (4, 12)),
        ("Grace", 144, (2, 72)),
        ("GH200", 72, (1, 72)),
        (None, 48, (6, 8)),
    ],
)
def test_a_rank_has_the_cores_of_a_numa_node_where_the_cpu_tells_them(
    cpu: str | None, cores: int, layout: tuple[int, int]
) -> None:
    done = described_dat(DatAsk(nodes=4, cores=cores, memory="480GiB", network="400g", cpu=cpu))
    ranks, threads = layout
    said = f"{4 * ranks} ranks, {ranks} on each node with {threads} threads each"
    assert said in str(done.report().parts)
    assert ("share a NUMA node." in str(done.report().parts)) is (cpu is not None)


def test_behind_a_slow_network_fewer_ranks_run_on_a_flatter_grid_and_the_reason_says_so() -> None:
    slow = described_dat(DatAsk(nodes=16, cores=64, memory="256GiB", network="10g"))
    fast = described_dat(LARGE)
    assert slow.params.ranks < fast.params.ranks
    assert slow.params.Q / slow.params.P > fast.params.Q / fast.params.P
    assert any("which is slow" in reason for reason in slow.reasons)
    assert any("P is smaller" in reason for reason in slow.reasons)


@pytest.mark.parametrize(("cpu", "NB"), [("zen2", 256), ("sapphirerapids", 384), ("Cortex-A72", 128), ("power9", 192)])
def test_nb_follows_from_the_cpu_where_its_blocking_is_known(cpu: str, NB: int) -> None:
    assert described_dat(DatAsk(cores=8, memory="16GiB", cpu=cpu)).params.NB == NB


def test_the_expected_time_is_that_of_a_rate_that_is_asked() -> None:
    result = described_dat(DatAsk(cores=1, memory="1GiB", N=10_000, gflops=2 / 3 * 1e3))
    assert "Expected time: 1.0 s; at 666.7 GFLOPS, as asked." in result.reasons


def test_without_a_rate_the_time_is_a_range_from_what_published_results_reach_of_rpeak() -> None:
    result = described_dat(DatAsk(nodes=4, cores=16, memory="64GiB", network="25g", cpu="zen4", ghz=4.5))
    facts = dict(result.facts)
    assert facts["rpeak_gflops"] == 4 * 16 * 4.5 * 16
    assert (facts["shortest_time_s"] or 0) < (facts["longest_time_s"] or 0)
    assert any("clusters in `hpltune known` reach" in reason for reason in result.reasons)


def test_one_core_needs_no_network_and_gets_no_look_ahead() -> None:
    result = described_dat(DatAsk(cores=1, memory="1GiB"))
    assert (result.params.ranks, result.params.DEPTH) == (1, 0)
    assert not any("network" in reason for reason in result.reasons)


MACHINES = [
    (nodes, cores, memory, network)
    for nodes, cores, memory in [
        (1, 4, "1GiB"),
        (1, 7, "16GiB"),
        (1, 52, "128GiB"),
        (1, 97, "256GiB"),
        (2, 31, "8GiB"),
        (4, 4, "8GiB"),
        (4, 31, "8GiB"),
        (4, 97, "64GiB"),
        (4, 127, "8GiB"),
        (5, 12, "2GiB"),
        (8, 46, "192GiB"),
        (13, 64, "256GiB"),
        (16, 58, "1TiB"),
        (64, 127, "512GiB"),
        (64, 256, "1.5TiB"),
        (100, 96, "384GiB"),
        (256, 23, "64GiB"),
        (512, 104, "512GiB"),
        (1021, 56, "192GiB"),
        (1024, 128, "1024GiB"),
    ]
    for network in ("100m", "10g", "200g")
]


@pytest.mark.parametrize(("nodes", "cores", "memory", "network"), MACHINES)
def test_each_plausible_machine_gets_a_file_that_fits_it(nodes: int, cores: int, memory: str, network: str) -> None:
    result = described_dat(DatAsk(nodes=nodes, cores=cores, memory=memory, network=network))
    params, facts = result.params, dict(result.facts)
    here, threads = facts["ranks_per_node"] or 0, facts["threads_per_rank"] or 0
    assert params.P <= params.Q
    assert nodes * here == params.P * params.Q
    assert params.N % params.NB == 0
    assert here * memory_bytes(params) <= 0.9 * parse_bytes(memory, "memory")
    assert 15 / 16 * cores <= here * threads <= cores
    squarest = process_grids(params.ranks)[0]
    assert (squarest[1] > 4 * squarest[0]) == any("no grid near a square" in reason for reason in result.reasons)
    assert not any("Caution" in reason for reason in result.reasons)


def test_where_panels_take_much_of_the_memory_n_is_smaller_and_the_reason_says_so() -> None:
    result = described_dat(DatAsk(nodes=4, cores=127, memory="8GiB", network="200g", ranks=508))
    assert 127 * memory_bytes(result.params) <= 0.9 * 8 * 2**30
    assert "its matrix and the panels beside it take at most 90% of 4 nodes with 8.0 GiB each" in result.reasons[0]


@pytest.mark.parametrize(("cores", "network", "ranks"), [(97, "25g", 6), (97, "200g", 12), (127, "200g", 18)])
def test_a_prime_number_of_cores_leaves_one_idle_for_fewer_and_wider_ranks(
    cores: int, network: str, ranks: int
) -> None:
    result = described_dat(DatAsk(nodes=4, cores=cores, memory="64GiB", network=network))
    threads = (cores - 1) // ranks
    assert dict(result.facts)["ranks_per_node"] == ranks
    said = f"{cores} cores do not divide into ranks with {threads} threads: 1 core of each node stays idle."
    assert any(said in reason for reason in result.reasons)
    assert f":PE={threads} " in result.commands[0]


def test_fewer_ranks_are_only_told_to_send_less_where_there_are_fewer() -> None:
    result = described_dat(DatAsk(nodes=16, cores=1, memory="1GiB", network="100m"))
    layout = next(reason for reason in result.reasons if reason.startswith("16 ranks"))
    assert "fewer ranks send less" not in layout


def test_ranks_that_have_only_a_long_grid_are_told_to_be_slow_whatever_the_network() -> None:
    result = described_dat(DatAsk(nodes=4, cores=127, memory="64GiB", network="200g", ranks=508))
    assert any("P=4, Q=127: the squarest grid" in reason and "which is slow." in reason for reason in result.reasons)


def test_a_block_that_is_larger_than_the_matrix_is_a_caution() -> None:
    result = described_dat(DatAsk(cores=1, memory="1GiB", N=100, NB=192))
    assert "Caution: NB=192 is larger than N=100: only one rank works." in result.reasons


def test_a_prime_number_of_ranks_is_told_to_be_slow() -> None:
    result = described_dat(DatAsk(nodes=13, cores=1, memory="1GiB", network="10g"))
    assert any("no grid near a square" in reason and "12 nodes may be faster" in reason for reason in result.reasons)


@pytest.mark.parametrize(
    ("ask", "field", "said"),
    [
        (DatAsk(nodes=4), "cores", "⟦cores⟧ is missing"),
        (DatAsk(cores=4), "memory", "⟦memory⟧ is missing"),
        (DatAsk(cores=4, memory="256"), "memory", "write a size with its unit"),
        (DatAsk(cores=4, memory="much"), "memory", "write a size with its unit"),
        (DatAsk(cores=4, memory="10PB"), "memory", "in MiB, GiB or TiB"),
        (DatAsk(cores=4, memory="0GiB"), "memory", "more than 0"),
        (DatAsk(cores=4, memory="1MiB", ranks=4, NB=128), "memory", "write 4MiB or more"),
        (DatAsk(nodes=4, cores=8, memory="10KiB"), "memory", "NB=192: write 26MiB or more, or take a smaller NB"),
        (DatAsk(nodes=4, cores=8, memory="999999999TiB"), "memory", "HPL's largest N, 2,147,483,647, does not fill it"),
        (DatAsk(cores=4, memory="8GiB", N=1_000_000), "N", "but has 8.0 GiB: the largest N that fits is 3"),
        (DatAsk(cores=1, memory="8GiB", N=32_768), "N", "8.003 GiB for it, but has 8.000 GiB"),
        (DatAsk(cores=4, memory="1GiB", network="quick"), "network", "write its speed in Gbit/s"),
        (DatAsk(cores=4, memory="1GiB", cpu="zen44"), "cpu", "did you mean zen4"),
        (DatAsk(cores=4, memory="1GiB", ghz=2.0), "cpu", "Rpeak is their product"),
        (DatAsk(cores=4, memory="1GiB", flops_per_cycle=16), "ghz", "Rpeak is their product"),
        (DatAsk(nodes=4, cores=4, memory="1GiB", ranks=6), "ranks", "a multiple of 4"),
        (DatAsk(nodes=4, cores=4, memory="1GiB", ranks=20), "ranks", "at most 16"),
        (DatAsk(cores=4, memory="1GiB", blas=("openblas",)), "blas", "leave it out"),
    ],
)
def test_what_makes_no_sense_is_one_sentence_at_its_field(ask: DatAsk, field: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        described_dat(ask)
    assert error.value.field == field
    assert said in str(error.value)


def test_the_command_writes_the_file_and_says_why(hpltune: Run, home: Path) -> None:
    done = hpltune("dat", "--nodes", "2", "--cores", "8", "--memory", "32GiB", "--network", "hdr", "-o", "HPL.dat")
    assert (done.returncode, done.stdout) == (0, "")
    assert "Wrote HPL.dat; copy it to the machine beside xhpl" in done.stderr
    assert parse((home / "HPL.dat").read_text()).ranks == 16
    again = hpltune("dat", "--cores", "8", "--memory", "32GiB", "-o", "HPL.dat")
    assert "HPL.dat is there already" in again.stderr


def test_json_has_the_file_the_reasons_and_the_commands(hpltune: Run) -> None:
    facts = json.loads(hpltune("dat", "--cores", "8", "--memory", "32GiB", "--json").stdout)
    assert parse(facts["HPL.dat"]).Ns == (facts["N"],)
    assert facts["reasons"]
    assert any(command.startswith("mpirun") for command in facts["commands"])


def test_no_folder_is_made_for_the_file(hpltune: Run, home: Path) -> None:
    done = hpltune("dat", "--cores", "8", "--memory", "32GiB", "-o", "no/such/HPL.dat")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "hpltune: no/such/HPL.dat: there is no folder no/such: make it first, or name another file\n"
    assert not (home / "no").exists()


def test_an_n_that_the_machine_cannot_hold_is_refused_and_no_file_written(hpltune: Run, home: Path) -> None:
    done = hpltune("dat", "--cores", "4", "--memory", "8GiB", "--N", "1000000", "-o", "HPL.dat")
    assert done.returncode == 2
    assert done.stderr.startswith("hpltune: --N 1000000: a node needs 7,")
    assert not (home / "HPL.dat").exists()


def test_the_least_memory_that_is_told_is_enough() -> None:
    with pytest.raises(UsageError, match="write 26MiB or more"):
        described_dat(DatAsk(nodes=4, cores=8, memory="10KiB", network="200g", ranks=32))
    assert described_dat(DatAsk(nodes=4, cores=8, memory="26MiB", network="200g", ranks=32)).params.N > 0


def test_a_number_out_of_range_is_told_in_our_words(hpltune: Run) -> None:
    for given, said in (
        ("0", "write 1 or more"),
        ("many", "write a whole number"),
        ("2000000", "write 1000000 or less"),
    ):
        done = hpltune("dat", "--nodes", given)
        assert (done.returncode, done.stderr) == (2, f"hpltune: --nodes {given}: {said}\n")


def test_a_mistake_on_the_command_line_names_its_option(hpltune: Run) -> None:
    done = hpltune("dat", "--cores", "8", "--memory", "32")
    assert done.returncode == 2
    assert done.stderr.startswith("hpltune: --memory")
    assert "such as 256GiB" in done.stderr


@pytest.mark.parametrize(("cpu", "cores"), [("i9-13900K", 24), ("Apple M1", 8), ("Core Ultra 9 285K", 24)])
def test_rpeak_of_a_cpu_with_smaller_cores_is_told_as_the_most(cpu: str, cores: int) -> None:
    ask = DatAsk(cores=cores, memory="64GiB", cpu=cpu, ghz=3.0)
    (caution,) = [reason for reason in described_dat(ask).reasons if "smaller cores" in reason]
    assert f"All {cores} count as the large ones, so Rpeak is {cores * 48:,.1f} GFLOPS at most" in caution
    assert caution.endswith("the time may be longer.")
    told = described_dat(replace(ask, flops_per_cycle=11))
    assert not [reason for reason in told.reasons if "smaller cores" in reason]
    assert not [reason for reason in described_dat(replace(ask, cpu="zen4")).reasons if "smaller cores" in reason]


def test_a_rate_above_rpeak_is_doubted_and_a_small_one_keeps_its_digits() -> None:
    ask = DatAsk(cores=4, memory="16GiB", cpu="zen4", ghz=3.0)
    above = described_dat(replace(ask, gflops=100_000.0)).reasons
    assert "Caution: 100,000 GFLOPS are more than Rpeak: one of both is wrong." in above
    below = described_dat(replace(ask, gflops=0.001)).reasons
    assert any(reason.endswith("at 0.001 GFLOPS, as asked.") for reason in below)
    assert not [reason for reason in below if "more than Rpeak" in reason]


def test_n_says_why_it_is_smaller_than_the_part_of_the_memory_allows() -> None:
    reasons = described_dat(DatAsk(cores=4, memory="16GiB", cpu="zen4")).reasons
    told = (
        "takes at most 80% of 1 node with 16.0 GiB each, rounded down to whole blocks of NB, equally many on all ranks."
    )
    assert any(told in reason for reason in reasons)


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (DatAsk(cores=4, memory="8Gb"), "Gb is bits"),
        (DatAsk(cores=4, memory="8GiB", network="100MB/s"), "GB is bytes"),
        (DatAsk(cores=4, memory="8GiB", network="10GBps"), "GB is bytes"),
    ],
)
def test_bits_are_no_bytes(ask: DatAsk, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        described_dat(ask)
    assert described_dat(DatAsk(cores=4, memory="8gb", network="10GbE")).params
