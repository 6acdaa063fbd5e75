"""Prices in US dollars, as options and cluster files give them."""

import re

MOST_USD = 1e12
"""Above every machine's price."""
_DOLLARS = re.compile(r"US\$|USD|\$", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<!\d)[1-9]\d{0,2}\.\d{3}$")


def price_usd(given: object) -> float:
    """Return a price in US dollars; a number, "1200", "$1200" and "1200 USD" are all the same.

    Raises:
        ValueError: it is not above zero, in another currency, written with a comma, or no number.
    """
    bare = _DOLLARS.sub("", given, count=1).strip() if isinstance(given, str) else given
    if isinstance(bare, str) and _THOUSANDS.search(bare):
        raise ValueError("a point separates dollars from cents: write 1200, or 1200.50 with cents")
    try:
        price = float(bare) if isinstance(bare, str | int | float) and not isinstance(bare, bool) else None
    except ValueError:
        price = None
    if price is None:
        raise ValueError("write the price in US dollars, as a number without a comma, for example 1200 or 1200.50")
    if not 0 < price <= MOST_USD:
        raise ValueError("a price is above zero, and at most 1e12 US dollars: leave it out if you do not know it")
    return price
