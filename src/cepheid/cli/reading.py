"""Files with queries and rules."""

from __future__ import annotations

from pathlib import Path

from cepheid.errors import InputMistake


def read_text(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputMistake(f"there is no file {file}", code="no_such_file") from None
    except (OSError, UnicodeDecodeError) as failure:
        raise InputMistake(f"{file} cannot be read: {failure}", code="bad_file") from None
