"""Prices in US dollars, as options and cluster files give them."""

import re

MOST_USD = 1e12
"""Above every machine's price."""
_DOLLARS = re.compile(r"US\$|USD|\$", re.IGNORECASE)
_EXAMPLE = "a number without a currency sign, for example 1200 or 1200.50"
_WRONG = (
    (r"[^\d\s.,+-]", f"prices are in US dollars: convert the price, and write {_EXAMPLE}"),
    (r",", "write the price without a comma: 1200 means twelve hundred, 1200.50 has cents"),
    (r"(?<!\d)[1-9]\d{0,2}\.\d{3}$|\.\d+\.", "a point separates dollars from cents: write 1200, or 1200.50 with cents"),
    (r"^(?![-+]?[0-9]+\.?[0-9]*$)", f"write the price in US dollars, as {_EXAMPLE}"),
)
"""What makes a text no price, and what to write; the first that matches counts."""


def price_usd(given: object) -> float:
    """Return a price in US dollars; a number, "1200", "$1200" and "1200 USD" are all the same.

    Raises:
        ValueError: it is no price; the sentence says what to write.
    """
    bare = _DOLLARS.sub("", given, count=1).strip() if isinstance(given, str) else given
    if isinstance(bare, str) and not re.fullmatch(r"[-+]?(inf|infinity|nan|\d+\.?\d*e[-+]?\d+)", bare, re.IGNORECASE):
        for pattern, sentence in _WRONG:
            if re.search(pattern, bare):
                raise ValueError(sentence)
    if isinstance(bare, bool) or not isinstance(bare, str | int | float):
        raise ValueError(f"write the price in US dollars, as {_EXAMPLE}")
    price = float(bare)
    if price <= 0:
        raise ValueError("a price is above zero: leave it out if you do not know it")
    if not price <= MOST_USD:
        raise ValueError("a price is at most 1e12 US dollars")
    return price
