"""Prices as options and cluster files give them: what is taken, and one sentence for each mistake."""

import pytest

from runners.hosts.cluster import NodeFacts
from runners.price import price_usd
from runners.toml_file import ClusterFileError, parse_table, validated
from runners.virtual.load import cluster_text, parse_cluster

NUMBER, BOUNDS, POINT = (
    "write the price in US dollars, as a number",
    "above zero, and at most 1e12",
    "separates dollars",
)
MISTAKES = [
    *((text, BOUNDS) for text in ("0", "-5", "inf", "nan")),
    *((text, NUMBER) for text in ("1200EUR", "€1200", "1200,50 kr", "1,200", "1.200,50", "1200 USD or so", "USD", "")),
    *((text, POINT) for text in ("1.200", "$1.200", "1.200 USD")),
]


@pytest.mark.parametrize(
    "text", ["1200", " 1200 ", "$1200", "1200$", "1200 USD", "usd 1200", "US$1200", "1.2e3", "1200.00"]
)
def test_dollars_may_be_written_in_these_ways(text: str) -> None:
    assert price_usd(text) == 1200.0


@pytest.mark.parametrize(("text", "words"), MISTAKES)
def test_a_wrong_price_is_told_with_what_to_write(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        price_usd(text)


@pytest.mark.parametrize(
    ("text", "words"), [("0", "above zero"), ('"1200EUR"', "write the price"), ("true", "US dollars")]
)
def test_a_wrong_price_in_a_cluster_file_is_told_with_its_line(text: str, words: str) -> None:
    written = f"cores = 2\nprice_usd = {text}\n"
    with pytest.raises(ClusterFileError, match=rf"here\.toml, line 2: price_usd = .*{words}"):
        validated(NodeFacts, "here.toml", parse_table("here.toml", written), written)


def test_another_mistake_in_toml_is_told_as_before() -> None:
    with pytest.raises(ClusterFileError, match="Expected newline"):
        parse_table("here.toml", "cores = 2x\nprice_usd = 5\n")


def test_a_virtual_cluster_says_the_same_of_its_price_and_of_parts_without_one() -> None:
    text = cluster_text("kronos")[1]
    with pytest.raises(ClusterFileError, match=r"price_usd = -1.*a price is above zero"):
        parse_cluster("here.toml", text.replace("price_usd = 2490", "price_usd = -1"))
    assert parse_cluster("here.toml", text).nodes[0].price_usd == 0.0
