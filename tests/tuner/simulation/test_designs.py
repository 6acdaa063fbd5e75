"""Clusters that may be built, as their designs describe them."""

import re
from pathlib import Path

import pytest
from design_files import design, designs

from tuner.errors import TunerError
from tuner.simulation.design import MOST_DESIGNS, Design, merge


def rate_of(found: Design, blas: str) -> object:
    return found.cluster.blas[blas].dgemm_gflops


def price_and_power(found: Design) -> tuple[float | None, float | None]:
    return found.cluster.price_with("gige"), found.cluster.power_with("gige")


def test_a_design_changes_a_blas_of_its_base(tmp_path: Path) -> None:
    faster = design(tmp_path, "blas = { atlas = { dgemm_gflops = 3.2 } }")
    assert rate_of(faster, "atlas") == 3.2
    assert rate_of(faster, "acml") == 2.245
    assert faster.blas is None


def test_a_design_brings_a_blas_that_its_base_has_not(tmp_path: Path) -> None:
    assert rate_of(design(tmp_path, "[design.blas.goto]\ndgemm_gflops = 3.1"), "goto") == 3.1


def test_a_design_is_held_to_the_blas_and_the_network_it_names(tmp_path: Path) -> None:
    held = design(tmp_path, 'blas = "acml"\nnetwork = "faste"')
    assert (held.blas, held.network) == ("acml", "faste")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('network = ["gige"]', "design 1: network = ['gige']: expected a text"),
        ("network = { gige = { mtu = 9000 } }", "design 1: network = {'gige': {'mtu': 9000}}: expected a text"),
        ('blas = ["atlas"]', "design 1: blas = ['atlas']: expected a text"),
        ("blas = 3", "design 1: blas = 3: expected a text"),
        ("name = 3", "design 1: name = 3: expected a text"),
        ('blas = "mkl"', "blas = mkl: Kronos has atlas, acml"),
    ],
)
def test_what_names_a_part_and_is_no_name_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(TunerError, match=re.escape(sentence)):
        design(tmp_path, text)


def test_other_nodes_have_neither_the_price_nor_the_power_of_their_base(tmp_path: Path) -> None:
    assert price_and_power(design(tmp_path, "nodes = { count = 16 }")) == (None, None)
    assert price_and_power(design(tmp_path, "nodes = { count = 16 }\nprice_usd = 4600")) == (4600, None)
    assert price_and_power(design(tmp_path, "nodes = { count = 16, price_usd = 300, power_w = 110 }")) == (4800, 1760)


def test_the_nodes_of_the_base_keep_its_price_and_power(tmp_path: Path) -> None:
    assert price_and_power(design(tmp_path, "noise = { runs = 0.01 }")) == (2490, 900)
    assert price_and_power(design(tmp_path, "nodes = { count = 8 }")) == (2490, 900)


def test_a_table_laid_over_a_list_of_no_tables_replaces_it() -> None:
    assert merge({"gflops": [[1.0, 2.0]]}, {"gflops": {"n": 1}}) == {"gflops": {"n": 1}}


def test_two_designs_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TunerError, match="two designs are called twin"):
        designs(tmp_path, '[[design]]\nname = "twin"\n[[design]]\nname = "twin"\n')


def test_more_designs_than_a_page_can_show_are_refused(tmp_path: Path) -> None:
    assert len(designs(tmp_path, "[[design]]\n" * MOST_DESIGNS)) == MOST_DESIGNS
    with pytest.raises(TunerError, match=f"has {MOST_DESIGNS + 1} designs: split it"):
        designs(tmp_path, "[[design]]\n" * (MOST_DESIGNS + 1))
