"""Networks such as 10.0.0.0/8 as regular expressions over the written address, every way it can be written."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network

_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_WORD = "[0-9a-f]{1,4}"


def network_regex(text: str) -> str:
    """An expression (RE2) that is found in an address exactly if the network holds it.

    >>> network_regex("10.0.0.0/31")
    '(?i)\\\\A10\\\\.0\\\\.0\\\\.(?:0|1)\\\\z'
    """
    network = ip_network(text)
    written = _v4(network) if isinstance(network, IPv4Network) else _v6(network)
    return rf"(?i)\A{written}\z"


def _v4(network: IPv4Network) -> str:
    return _quad(int(network.network_address), network.prefixlen)


def _quad(address: int, prefix: int) -> str:
    """Four numbers with dots, of which so many bits are fixed."""
    return r"\.".join(_byte((address >> shift) & 0xFF, prefix - (24 - shift)) for shift in (24, 16, 8, 0))


def _byte(value: int, fixed: int) -> str:
    if fixed <= 0:
        return _BYTE
    if fixed >= 8:
        return str(value)
    size = 1 << (8 - fixed)
    return f"(?:{'|'.join(str(value + i) for i in range(size))})"


def _v6(network: IPv6Network) -> str:
    """Eight words, or fewer around one `::`; the last two may be written as an IPv4 address."""
    address, prefix = int(network.network_address), network.prefixlen
    words = [_word((address >> (112 - 16 * i)) & 0xFFFF, prefix - 16 * i) for i in range(8)]
    zeros = [_may_be_zero((address >> (112 - 16 * i)) & 0xFFFF, prefix - 16 * i) for i in range(8)]
    forms = _forms(words, zeros)
    tail = _quad(address & 0xFFFFFFFF, prefix - 96)
    forms += _forms([*words[:6], tail], [*zeros[:6], False])
    return f"(?:{'|'.join(forms)})"


def _forms(words: list[str], zeros: list[bool]) -> list[str]:
    """The words written out, and with each stretch of zeros that may be left out as `::`."""
    found = [":".join(words)]
    for start in range(len(words)):
        for end in range(start + 1, len(words) + 1):
            if not all(zeros[start:end]):
                break
            found.append(":".join(words[:start]) + "::" + ":".join(words[end:]))
    return found


def _may_be_zero(value: int, fixed: int) -> bool:
    return value == 0 or fixed <= 0


def _word(value: int, fixed: int) -> str:
    """A word of 16 bits in hexadecimal, zeros before it or not, of which so many bits are fixed."""
    if fixed <= 0:
        return _WORD
    if fixed >= 16:
        return _padded(f"{value:x}")
    digits = f"{value:04x}"
    whole, rest = divmod(fixed, 4)
    free = 3 - whole
    choices = _digits(int(digits[whole], 16), 1 << (4 - rest))
    head = digits[:whole]
    if kept := head.lstrip("0"):
        zeros = f"0{{0,{len(head) - len(kept)}}}" if len(kept) < len(head) else ""
        return f"{zeros}{kept}[{choices}]" + (f"[0-9a-f]{{{free}}}" if free else "")
    return _short_word(len(head), choices, free)


def _short_word(zeros: int, choices: str, free: int) -> str:
    """Zeros, one of some digits, free digits: where that digit may be a zero too, it may be left out."""
    tail = f"[0-9a-f]{{{free}}}" if free else ""
    full = f"0{{0,{zeros}}}[{choices}]{tail}"
    if not choices.startswith("0") or not free:
        return full
    return f"(?:{full}|[0-9a-f]{{1,{free}}})"


def _digits(first: int, count: int) -> str:
    return "".join(f"{first + i:x}" for i in range(count))


def _padded(digits: str) -> str:
    return f"0{{0,{4 - len(digits)}}}{digits}" if len(digits) < 4 else digits
