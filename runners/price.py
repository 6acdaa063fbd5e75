"""Prices in US dollars, as options and cluster files give them."""

import re

MOST_USD = 1e12
"""Above every machine's price."""
_DOLLARS = re.compile(r"US\$|USD|\$", re.IGNORECASE)
_EXAMPLE = "a number without a currency sign, for example 1200 or 1200.50"


class PriceError(ValueError):
    """A price cannot be used; the message says what to write, without the option or key."""


def price_usd(given: object) -> float:
    """Return a price in US dollars; a number, "1200", "$1200" and "1200 USD" are all the same.

    Raises:
        PriceError: it is not above zero, in another currency, written with a comma, or no number.
    """
    price = _number(given.strip()) if isinstance(given, str) else given
    if isinstance(price, bool) or not isinstance(price, int | float):
        raise PriceError(f"write the price in US dollars, as {_EXAMPLE}")
    if price <= 0:
        raise PriceError("a price is above zero: leave it out if you do not know it")
    if not price <= MOST_USD:
        raise PriceError("a price is at most 1e12 US dollars")
    return float(price)


def _number(text: str) -> float:
    bare = _DOLLARS.sub("", text, count=1).strip()
    if re.fullmatch(r"[-+]?(inf|infinity|nan|\d+\.?\d*e[-+]?\d+)", bare, re.IGNORECASE):
        return float(bare)
    if re.search(r"[^\d\s.,+-]", bare):
        raise PriceError(f"prices are in US dollars: convert the price, and write {_EXAMPLE}")
    if "," in bare:
        raise PriceError("write the price without a comma: 1200 means twelve hundred, 1200.50 has cents")
    if re.search(r"(?<!\d)[1-9]\d{0,2}\.\d{3}$|\.\d+\.", bare):
        raise PriceError("a point separates dollars from cents: write 1200, or 1200.50 with cents")
    if not re.fullmatch(r"[-+]?\d+\.?\d*", bare, re.ASCII):
        raise PriceError(f"write the price in US dollars, as {_EXAMPLE}")
    return float(bare)
