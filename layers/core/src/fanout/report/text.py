"""Numbers and names as people read them."""

from __future__ import annotations

# Characters of a path or a message that the page shows; failures.jsonl holds all of it.
_CLIPPED_AT = 240
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def visible(text: str) -> str:
    """The text with everything that is not printable as an escape: controls, bidi marks, stray bytes, newlines."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, as Python carries it in a str
        return f"\\x{code - 0xDC00:02x}"
    return ascii(char)[1:-1]


def clip(text: str) -> str:
    """The text, or its two ends where it is long."""
    shown = visible(text)
    if len(shown) <= _CLIPPED_AT:
        return shown
    return f"{shown[: _CLIPPED_AT * 2 // 3]} … {shown[-_CLIPPED_AT // 3 :]}"


def components(path: str) -> list[str]:
    """The parts of a path that are laid out each on its own, so that no script turns the order of directories round."""
    return [path] if path.isascii() else path.split("/")


def count(number: int) -> str:
    """With a comma at the thousands."""
    return f"{number:,}"


def number(value: float) -> str:
    """Three digits that count, none after the point of a whole number, and a comma at the thousands."""
    if value == round(value):
        return f"{value:,.0f}"
    for decimals, above in ((0, 100), (1, 10), (2, 1)):
        if abs(value) >= above:
            return f"{value:,.{decimals}f}"
    return f"{value:.3g}"


def dollars(value: float) -> str:
    """Dollars to the cent; a small sum is not shown as none."""
    return "< $0.01" if 0 < value < 0.005 else f"${value:,.2f}"


def unit_of(size: float) -> tuple[float, str]:
    """The bytes of the largest unit that is not above ``size``, and its name."""
    power = 0
    while size >= 1024 ** (power + 1) and power < len(_UNITS) - 1:
        power += 1
    return 1024.0**power, _UNITS[power]


def size(bytes_: float) -> str:
    """Bytes in the unit that suits them."""
    per_unit, unit = unit_of(bytes_)
    return f"{bytes_:,.0f} B" if unit == "B" else f"{number(bytes_ / per_unit)} {unit}"


def duration(seconds: float) -> str:
    """Milliseconds, seconds, minutes and seconds, or hours and minutes."""
    if 0 < seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60:,} h {minutes % 60:02d} min"


def clock(time: str) -> str:
    """A time of ISO 8601 in UTC as people write it."""
    return time.replace("T", " ").replace("Z", " UTC")


def percent(share: float) -> str:
    """A share of 1; a small one is not shown as none."""
    if 0 < share < 0.001:
        return "< 0.1 %"
    return f"{share * 100:.1f} %"


def spoken(name: str) -> str:
    """A name of summary.json or plan.json as words."""
    return name.replace("_", " ").replace(".", ", ")
