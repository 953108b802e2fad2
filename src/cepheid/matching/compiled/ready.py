"""Is the kernel compiled on this machine? Found out without loading numba, which takes a while."""

from __future__ import annotations

from pathlib import Path


def is_ready() -> bool:
    """Does a compiled kernel lie beside its sources? (Where they cannot be written to it lies elsewhere: not seen.)"""
    return any((Path(__file__).parent / "kernel" / "__pycache__").glob("entrance.*.nbi"))
