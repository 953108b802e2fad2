"""A row pattern as a program of a backtracking machine: of two ways the first is tried first, as preferment has it.

A loop whose body may match no row would never end: an iteration beyond the minimum must take a row. `MARK` notes
where an iteration begins, `CHECK` fails if no row was taken since.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
import numpy.typing as npt

from cepheid.errors import PatternMistake
from cepheid.pattern.row_pattern import (
    Alternation,
    Anchor,
    Concatenation,
    Empty,
    Exclusion,
    Permutation,
    Quantified,
    RowNode,
    Variable,
    has_one_way,
    variables_of,
)

ROW, SPLIT, JUMP, START, END, MARK, CHECK, MATCH = range(8)
_MOST = 100_000  # instructions


@dataclass(frozen=True)
class RowProgram:
    """`first` and `second` are places to go on at (of SPLIT and JUMP), a variable (of ROW) or a mark's number."""

    ops: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]
    excluded: npt.NDArray[np.bool_]  # of ROW: is it within an exclusion?
    variables: tuple[str, ...]
    marks: int

    @property
    def size(self) -> int:
        return len(self.ops)


def compile_rows(pattern: RowNode) -> RowProgram:
    writer = _Writer({name: code for code, name in enumerate(variables_of(pattern))})
    writer.write(pattern, excluded=False)
    writer.add(MATCH)
    ops, first, second, excluded = zip(*writer.lines, strict=True)
    return RowProgram(
        np.array(ops, np.int64),
        np.array(first, np.int64),
        np.array(second, np.int64),
        np.array(excluded, np.bool_),
        tuple(writer.codes),
        writer.marks,
    )


class _Writer:
    def __init__(self, codes: dict[str, int]) -> None:
        self.codes = codes
        self.lines: list[list[int]] = []
        self.marks = 0
        self.depth = 0

    def add(self, op: int, first: int = 0, second: int = 0, excluded: bool = False) -> int:
        if len(self.lines) >= _MOST:
            raise PatternMistake(
                f"written out, the row pattern has more than {_MOST:,} parts",
                code="pattern_too_big",
                hint="make the bounds of its quantifiers smaller",
            )
        self.lines.append([op, first, second, excluded])
        return len(self.lines) - 1

    @property
    def here(self) -> int:
        return len(self.lines)

    def write(self, node: RowNode, excluded: bool) -> None:
        match node:
            case Variable(name):
                self.add(ROW, self.codes[name], excluded=excluded)
            case Anchor(start):
                self.add(START if start else END)
            case Concatenation(parts):
                for part in parts:
                    self.write(part, excluded)
            case Alternation(parts):
                self._alternation(parts, excluded)
            case Permutation(parts):
                self._permutation(parts, excluded)
            case Exclusion(part):
                self.write(part, excluded=True)
            case Quantified():
                self._quantified(node, excluded)
            case Empty():
                pass
            case _:
                raise AssertionError(node)

    def _permutation(self, parts: tuple[RowNode, ...], excluded: bool) -> None:
        """All orders, each with all its ways before the next.

        Where a part has only one way, what comes after it does not depend on how it was reached: for each set of
        parts that are left the program goes on at one place.
        """
        if not all(has_one_way(part) for part in parts):
            self._alternation([Concatenation(order) for order in permutations(parts)], excluded)
            return
        begins: dict[frozenset[int], int] = {}
        jumps: list[tuple[int, frozenset[int]]] = []
        todo = [frozenset(range(len(parts)))]
        for left in todo:
            begins[left] = self.here
            for i in sorted(left):
                split = self.add(SPLIT, self.here + 1) if i != max(left) else None
                self.write(parts[i], excluded)
                rest = left - {i}
                jumps.append((self.add(JUMP), rest))
                if rest and rest not in todo:
                    todo.append(rest)
                if split is not None:
                    self.lines[split][2] = self.here
        begins[frozenset()] = self.here
        for jump, rest in jumps:
            self.lines[jump][1] = begins[rest]

    def _alternation(
        self, parts: list[RowNode] | tuple[RowNode, ...] | list[Concatenation], excluded: bool
    ) -> None:
        jumps = []
        for part in parts[:-1]:
            split = self.add(SPLIT, self.here + 1)
            self.write(part, excluded)
            jumps.append(self.add(JUMP))
            self.lines[split][2] = self.here
        self.write(parts[-1], excluded)
        for jump in jumps:
            self.lines[jump][1] = self.here

    def _quantified(self, node: Quantified, excluded: bool) -> None:
        for _ in range(node.least):
            self.write(node.part, excluded)
        if node.most is None:
            begin = self.here
            leave = self._maybe(node, excluded)
            self.add(JUMP, begin)
            self._leads(leave, node.greedy)
            return
        leaves = [self._maybe(node, excluded) for _ in range(node.most - node.least)]
        for leave in leaves:
            self._leads(leave, node.greedy)

    def _maybe(self, node: Quantified, excluded: bool) -> int:
        """One more iteration, or none; the answer is the split, whose other way is not known yet."""
        split = self.add(SPLIT)
        inside = self.here
        self.lines[split][1 if node.greedy else 2] = inside
        if can_be_empty(node.part):
            # Behind CHECK a row was taken, which lifts all marks: only loops within each other need their own.
            mark, self.depth = self.depth, self.depth + 1
            self.marks = max(self.marks, self.depth)
            self.add(MARK, mark)
            self.write(node.part, excluded)
            self.add(CHECK, mark)
            self.depth -= 1
        else:
            self.write(node.part, excluded)
        return split

    def _leads(self, split: int, greedy: bool) -> None:
        self.lines[split][2 if greedy else 1] = self.here


def can_be_empty(node: RowNode) -> bool:
    """May it match without any row?"""
    match node:
        case Variable():
            return False
        case Concatenation(parts) | Permutation(parts):
            return all(can_be_empty(part) for part in parts)
        case Alternation(parts):
            return any(can_be_empty(part) for part in parts)
        case Quantified(part, least):
            return least == 0 or can_be_empty(part)
        case Exclusion(part):
            return can_be_empty(part)
        case _:
            return True


def first_variables(program: RowProgram) -> int | None:
    """As bits, which variables the first row of a match may have; None: a match may have no row."""
    found, seen, todo = 0, set(), [0]
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        op = program.ops[at]
        if op == ROW:
            found |= 1 << int(program.first[at])
        elif op == MATCH:
            return None
        elif op == SPLIT:
            todo += [int(program.first[at]), int(program.second[at])]
        else:
            todo.append(int(program.first[at]) if op == JUMP else at + 1)
    return found
