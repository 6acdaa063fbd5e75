"""Prices as options and cluster files give them: what is taken, and one sentence for each mistake."""

import pytest

from runners.hosts.cluster import NodeFacts
from runners.price import price_usd
from runners.toml_file import ClusterFileError, parse_table, validated

MISTAKES = [
    ("0", "a price is above zero"),
    ("-5", "a price is above zero"),
    ("inf", "at most 1e12 US dollars"),
    ("nan", "at most 1e12 US dollars"),
    ("1200EUR", "prices are in US dollars: convert the price, and write a number"),
    ("€1200", "prices are in US dollars: convert the price, and write a number"),
    ("1200,50 kr", "prices are in US dollars: convert the price, and write a number"),
    ("1,200", "without a comma: 1200 means twelve hundred"),
    ("1.200,50", "without a comma: 1200 means twelve hundred"),
    ("1.200", "a point separates dollars from cents: write 1200"),
    ("$1.200", "a point separates dollars from cents: write 1200"),
    ("1.200 USD", "a point separates dollars from cents: write 1200"),
    ("1200 USD or so", "prices are in US dollars: convert the price, and write a number"),
    ("USD", "write the price in US dollars, as a number"),
    ("1 200", "write the price in US dollars, as a number"),
    ("", "write the price in US dollars, as a number"),
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
    ("text", "words"), [("0", "above zero"), ('"1200EUR"', "convert the price"), ("true", "US dollars")]
)
def test_a_wrong_price_in_a_cluster_file_is_told_with_its_line(text: str, words: str) -> None:
    written = f"cores = 2\nprice_usd = {text}\n"
    with pytest.raises(ClusterFileError, match=rf"here\.toml, line 2: price_usd = .*{words}"):
        validated(NodeFacts, "here.toml", parse_table("here.toml", written), written)
