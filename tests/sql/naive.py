"""MATCH_RECOGNIZE the slow way, to check the cases themselves: the oracle maps the rows, DuckDB does the rest.

Every navigation and aggregate becomes a subquery over the rows of the partition, so no expression is evaluated
here. It knows the SQL of the cases and no more, and finds no static errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb
import sqlglot
from cases import Table
from preferment import RowMatch, all_matches, unmatched_rows
from sqlglot import exp

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
)
from cepheid.sql_lang.clause import AfterMatch

NAVIGATION = ("PREV", "NEXT", "FIRST", "LAST")
AGGREGATES = tuple(
    """COUNT SUM AVG MIN MAX MAX_BY MIN_BY ARG_MAX STRING_AGG MODE CORR COVAR_POP COVAR_SAMP REGR_SLOPE REGR_COUNT
    BIT_AND BIT_OR BIT_XOR COUNT_IF MEDIAN PERCENTILE_CONT PERCENTILE_DISC APPROX_COUNT_DISTINCT STDDEV_POP VAR_SAMP
    VAR_POP STD STDDEV VARIANCE MEAN BOOL_AND BOOL_OR EVERY SOME ARRAY_AGG LIST QUANTILE_CONT GEOMEAN""".split()  # noqa: SIM905
)
# What DuckDB calls them.
NAMES = {"STD": "STDDEV", "EVERY": "BOOL_AND", "SOME": "BOOL_OR"}
_TOKEN = re.compile(
    r"""\s+ | --[^\n]* | /\*.*?\*/ | (?P<token>
    '(?:[^']|'')*' | "[^"]*" | `[^`]*` | \d+(?:\.\d+)? | \w+ | <= | >= | <> | != | \|\| | . )""",
    re.VERBOSE | re.DOTALL,
)

Tokens = list[str]


def run(query: str, tables: dict[str, Table]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The columns and rows of a query."""
    db = duckdb.connect()
    for name, table in tables.items():
        columns = ", ".join(f'"{c}" {t}' for c, t in table.columns.items())
        db.execute(f"CREATE TABLE {name} ({columns})")
        for row in table.rows:
            db.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", list(row))
    tokens = [m["token"] for m in _TOKEN.finditer(query) if m["token"]]
    found = db.execute(_Statement(db).rewritten(tokens))
    return [d[0] for d in found.description], found.fetchall()


class _Statement:
    def __init__(self, db: duckdb.DuckDBPyConnection) -> None:
        self.db = db
        self.made = 0

    def rewritten(self, tokens: Tokens) -> str:
        """The statement with a table in the place of each clause. Common table expressions become views."""
        if tokens[0].upper() == "WITH":
            at = 1
            while True:
                name, end = tokens[at], closing(tokens, at + 2)
                body = self.rewritten(tokens[at + 3 : end])
                self.db.execute(f"CREATE TEMP VIEW {name} AS {body}")
                if tokens[end + 1] != ",":
                    return self.rewritten(tokens[end + 1 :])
                at = end + 2
        while "MATCH_RECOGNIZE" in (upper := [t.upper() for t in tokens]):
            at = upper.index("MATCH_RECOGNIZE")
            end = closing(tokens, at + 1)
            begin = opening(tokens, at - 1) if tokens[at - 1] == ")" else at - 1
            self.made += 1
            name = f"found{self.made}"
            _Clause(self.db, name, tokens[begin:at], tokens[at + 2 : end]).run()
            tokens = [*tokens[:begin], name, *tokens[end + 1 :]]
        return " ".join(tokens)


def closing(tokens: Tokens, at: int) -> int:
    """Where the parenthesis that opens at a place closes."""
    depth = 0
    for i in range(at, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[i], 0)
        if depth == 0:
            return i
    raise ValueError("a parenthesis does not close")


def opening(tokens: Tokens, at: int) -> int:
    return at - closing([{"(": ")", ")": "("}.get(t, t) for t in reversed(tokens[: at + 1])], 0)


def split(tokens: Tokens) -> Iterator[Tokens]:
    """The parts between commas outside parentheses."""
    part: Tokens = []
    depth = 0
    for token in tokens:
        depth += {"(": 1, ")": -1}.get(token, 0)
        if token == "," and depth == 0:
            yield part
            part = []
        else:
            part.append(token)
    if part:
        yield part


def name_of(token: str) -> str:
    return token[1:-1] if token[0] in '"`' else token.upper()


# The words that begin a part of the clause, each with the word after it: a measure may be called `one`.
HEADS = {
    ("PARTITION", "BY"),
    ("ORDER", "BY"),
    ("ONE", "ROW"),
    ("ALL", "ROWS"),
    ("AFTER", "MATCH"),
    ("PATTERN", "("),
    ("WITHIN", "INTERVAL"),
}


def sections(tokens: Tokens) -> dict[str, Tokens]:
    found: dict[str, Tokens] = {}
    depth = 0
    head = ""
    upper = [*(t.upper() for t in tokens), ""]
    for i, token in enumerate(tokens):
        depth += {"(": 1, ")": -1}.get(token, 0)
        begins = upper[i] in ("MEASURES", "SUBSET", "DEFINE") or (upper[i], upper[i + 1]) in HEADS
        if depth == 0 and begins:
            head = upper[i]
            found[head] = []
        else:
            found[head].append(token)
    return found


def expression(tokens: Tokens) -> exp.Expression:
    """Functions over the match get names of their own, with RUNNING and FINAL in them, before it is parsed."""
    text: Tokens = []
    kind = "RP"
    for i, token in enumerate(tokens):
        word = token.upper()
        if word in ("RUNNING", "FINAL"):
            kind = "RPF" if word == "FINAL" else "RP"
        elif word in (*NAVIGATION, *AGGREGATES, "CLASSIFIER", "MATCH_NUMBER") and tokens[i + 1] == "(":
            text.append(f"{kind}_{word}")
            kind = "RP"
        else:
            text.append(token)
    return parsed(" ".join(text))


@dataclass(frozen=True)
class _Moment:
    """What an expression sees: the rows mapped so far, those of the whole match, and the number of the match."""

    so_far: Sequence[tuple[int, str]]
    whole: Sequence[tuple[int, str]]
    number: int | None


@dataclass
class _Clause:
    db: duckdb.DuckDBPyConnection
    name: str
    source: Tokens
    tokens: Tokens
    subsets: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def run(self) -> None:
        parts = sections(self.tokens)
        self.by = [" ".join(x) for x in split(parts.get("PARTITION", ["BY"])[1:])]
        self.order = [" ".join(x) for x in split(parts.get("ORDER", ["BY"])[1:])]
        self.order_names = [x.split()[0] for x in self.order]
        self.measures = [
            (x[-1], expression(x[:-2] if x[-2].upper() == "AS" else x[:-1]))
            for x in split(parts.get("MEASURES", []))
        ]
        self.define = {name_of(x[0]): expression(x[2:]) for x in split(parts.get("DEFINE", []))}
        for x in split(parts.get("SUBSET", [])):
            self.subsets[name_of(x[0])] = tuple(name_of(t) for t in x[3:-1] if t != ",")
        self.pattern = _PatternReader(parts["PATTERN"][1:-1]).read()
        self.variables = {
            *self.define,
            *self.subsets,
            *re.findall(r"Variable\(name='(.*?)'", repr(self.pattern)),
        }
        self.within = " ".join(parts["WITHIN"]) if "WITHIN" in parts else None
        self.all_rows = " ".join(parts["ALL"]).upper() if "ALL" in parts else None
        self.skip, self.to = self._skip([t.upper() for t in parts.get("AFTER", [])], parts.get("AFTER", []))
        self._partitions()

    def _skip(self, words: Tokens, tokens: Tokens) -> tuple[AfterMatch, str | None]:
        match words[2:]:
            case [] | ["PAST", "LAST", "ROW"]:
                return AfterMatch.PAST_LAST_ROW, None
            case ["TO", "NEXT", "ROW"]:
                return AfterMatch.TO_NEXT_ROW, None
            case ["TO", "FIRST", _]:
                return AfterMatch.TO_FIRST, name_of(tokens[-1])
            case _:
                return AfterMatch.TO_LAST, name_of(tokens[-1])

    def _partitions(self) -> None:
        source = " ".join(self.source)
        self.db.execute(f"CREATE OR REPLACE TEMP TABLE given AS SELECT * FROM {source}")
        groups = "dense_rank() OVER (ORDER BY " + ", ".join(self.by) + ")" if self.by else "1"
        self.db.execute(
            f"CREATE OR REPLACE TEMP TABLE parts AS SELECT *, {groups} AS part_no, "
            f"row_number() OVER (PARTITION BY {', '.join(self.by) or '1'}"
            f"{' ORDER BY ' + ', '.join(self.order) if self.order else ''}) - 1 AS row_no FROM given"
        )
        described = self.db.execute("SELECT * FROM given LIMIT 0").description
        shown = [*self.by, *self.order_names]
        low = [s.lower() for s in shown]
        self.rest = [f'"{d[0]}"' for d in described if d[0].lower() not in [x.strip('"') for x in low]]
        shape = self._output(-1, _Moment((), (), None), unmatched=True)
        self.db.execute(f"CREATE OR REPLACE TEMP TABLE {self.name} AS SELECT * FROM ({shape}) WHERE false")
        numbers = self.db.execute("SELECT DISTINCT part_no FROM parts ORDER BY 1").fetchall()
        for (number,) in numbers:
            self.db.execute(
                f"CREATE OR REPLACE TEMP TABLE part AS SELECT * FROM parts WHERE part_no = {number}"
            )
            self._partition()

    def _partition(self) -> None:
        counted = self.db.execute("SELECT count(*) FROM part").fetchone()
        rows = counted[0] if counted else 0
        matches = all_matches(self.pattern, rows, self._holds, self.skip, self.to, self.subsets)
        outputs: list[tuple[int, str]] = []
        for m in matches:
            outputs += self._match(m)
        if self.all_rows is not None and "UNMATCHED" in self.all_rows:
            nothing = _Moment((), (), None)
            outputs += [(r, self._output(r, nothing, unmatched=True)) for r in unmatched_rows(matches, rows)]
            outputs.sort(key=lambda o: o[0])
        for _, sql in outputs:
            self.db.execute(f"INSERT INTO {self.name} {sql}")

    def _match(self, m: RowMatch) -> Iterator[tuple[int, str]]:
        if not m.taken or self.all_rows is None:
            if m.taken or self.all_rows is None or "OMIT" not in self.all_rows:
                yield m.start, self._output(m.start, _Moment(m.mapping, m.mapping, m.number))
            return
        for i, t in enumerate(m.taken):
            if not t.excluded:
                yield t.row, self._output(t.row, _Moment(m.mapping[: i + 1], m.mapping, m.number))

    def _output(self, row: int, moment: _Moment, unmatched: bool = False) -> str:
        def column(name: str) -> str:
            return f"(SELECT {name} FROM part WHERE row_no = {row}) AS {name}"

        def measure(name: str, value: exp.Expression) -> str:
            sql = self._sql(value, moment)
            return f"CASE WHEN false THEN {sql} END AS {name}" if unmatched else f"{sql} AS {name}"

        if row < 0:
            self.db.execute("CREATE OR REPLACE TEMP TABLE part AS SELECT * FROM parts WHERE false")
        columns = [column(c) for c in self.by]
        if self.all_rows is not None:
            columns += [column(c) for c in self.order_names if c not in self.by]
        columns += [measure(n, v) for n, v in self.measures]
        if self.all_rows is not None:
            columns += [column(c) for c in self.rest]
        return "SELECT " + ", ".join(columns)

    def _holds(self, variable: str, row: int, so_far: list[tuple[int, str]]) -> bool:
        mapped = [*so_far, (row, variable)]
        if self.within is not None:
            time = f"(SELECT {self.order_names[0]} FROM part WHERE row_no = %d)"
            if not self._true(f"{time % row} <= {time % mapped[0][0]} + {self.within}"):
                return False
        if variable not in self.define:
            return True
        return self._true(self._sql(self.define[variable], _Moment(mapped, mapped, 0)))

    def _true(self, sql: str) -> bool:
        found = self.db.execute(f"SELECT ({sql}) IS TRUE").fetchone()
        return found is not None and bool(found[0])

    # --- expressions

    def _sql(self, node: exp.Expression, moment: _Moment) -> str:
        """An expression with what it sees of the match put in."""

        def put(part: exp.Expression) -> exp.Expression:
            sql: str
            name = row_function(part)
            if name in NAVIGATION:
                row, inner = self._located(part, moment)
                sql = f"(SELECT {self._inside(inner, moment)} FROM part WHERE row_no = {-1 if row is None else row})"
            elif aggregate_in(part) is not None:
                sql = self._aggregate(part, moment)
            elif name == "CLASSIFIER":
                mapped = self._rows(part, part.expressions[0] if part.expressions else None, moment)
                sql = f"'{mapped[-1][1]}'" if mapped else "CAST(NULL AS VARCHAR)"
            elif name == "MATCH_NUMBER":
                sql = str(moment.number or 0)
            elif isinstance(part, exp.Column):
                mapped = self._rows(part, part, moment)
                sql = f"(SELECT {part.this.sql('duckdb')} FROM part WHERE row_no = {mapped[-1][0] if mapped else -1})"
            else:
                return part
            return parsed(sql)

        def down(part: exp.Expression) -> exp.Expression:
            done = put(part)
            if done is not part:
                return done
            for key, value in list(part.args.items()):
                if isinstance(value, exp.Expression):
                    part.set(key, down(value))
                elif isinstance(value, list):
                    part.set(key, [down(v) if isinstance(v, exp.Expression) else v for v in value])
            return part

        return down(node.copy()).sql("duckdb")

    def _aggregate(self, part: exp.Expression, moment: _Moment) -> str:
        """Over the rows of its variable, in their order; FILTER takes some of them away."""
        call = aggregate_in(part)
        assert call is not None
        asked = exp.Tuple(expressions=[a.copy() for a in call.expressions])
        where, within = "true", ""
        while part is not call:
            if isinstance(part, exp.Filter):
                where = self._inside(part.expression.this, moment)
                asked.append("expressions", part.expression.this.copy())
            else:
                within = f" WITHIN GROUP ({self._inside(part.expression, moment)})"
                asked.append("expressions", part.expression.copy())
            part = part.this
        rows = ", ".join(str(r) for r, _ in self._rows(call, asked, moment)) or "-1"
        inside = ", ".join(self._inside(a, moment) for a in call.expressions)
        name = row_function(call)
        assert name is not None
        table = f"(SELECT * FROM part WHERE row_no IN ({rows}) AND ({where}) ORDER BY row_no)"
        return f"(SELECT {NAMES.get(name, name)}({inside}){within} FROM {table})"

    def _located(self, node: exp.Expression, moment: _Moment) -> tuple[int | None, exp.Expression]:
        name = row_function(node)
        inner = node.expressions[0]
        offset = int(node.expressions[1].name) if len(node.expressions) > 1 else None
        if name in ("FIRST", "LAST"):
            rows = self._rows(node, inner, moment)
            at = offset or 0
            if at >= len(rows):
                return None, inner
            return rows[at if name == "FIRST" else -1 - at][0], inner
        if row_function(inner) in ("FIRST", "LAST"):
            base, inner = self._located(inner, moment)
        else:
            rows = self._rows(node, inner, moment)
            base = rows[-1][0] if rows else None
        step = 1 if offset is None else offset
        return None if base is None else base + (step if name == "NEXT" else -step), inner

    def _rows(
        self, function: exp.Expression, inner: exp.Expression | None, moment: _Moment
    ) -> list[tuple[int, str]]:
        """The rows a function looks at: those of the variable its argument names, or all of the match."""
        mapped = moment.whole if function.name.upper().startswith("RPF_") else moment.so_far
        names = (
            {name_of(c.text("table")) for c in inner.find_all(exp.Column) if c.text("table")}
            if inner
            else set()
        )
        if isinstance(inner, exp.Column) and row_function(function) == "CLASSIFIER":
            names = {name_of(inner.name)}
        for part in inner.find_all(exp.Anonymous) if inner else ():
            if row_function(part) == "CLASSIFIER" and part.expressions:
                names.add(name_of(part.expressions[0].name))
        if not names:
            return list(mapped)
        (name,) = names
        assert name in self.variables, name
        members = self.subsets.get(name, (name,))
        return [(r, v) for r, v in mapped if v in members]

    def _inside(self, node: exp.Expression, moment: _Moment) -> str:
        """The argument of a navigation or an aggregate, for any row of the partition."""

        def plain(part: exp.Expression) -> exp.Expression:
            if isinstance(part, exp.Column):
                if isinstance(part.this, exp.Star):
                    return exp.Star()
                return exp.column(part.this.copy())
            if row_function(part) == "CLASSIFIER":
                cases = " ".join(f"WHEN {r} THEN '{v}'" for r, v in moment.whole)
                return parsed(f"CASE row_no WHEN -1 THEN '' {cases} END")
            if row_function(part) == "MATCH_NUMBER":
                return parsed(str(moment.number or 0))
            return part

        return node.copy().transform(plain).sql("duckdb")


def parsed(sql: str) -> exp.Expression:
    node = sqlglot.parse_one(sql, read="duckdb")
    assert isinstance(node, exp.Expression)
    return node


def row_function(node: exp.Expression) -> str | None:
    if isinstance(node, exp.Anonymous) and node.name.upper().startswith(("RP_", "RPF_")):
        return node.name.upper().split("_", 1)[1]
    return None


def aggregate_in(node: exp.Expression) -> exp.Expression | None:
    """The call of an aggregate, without FILTER and the like around it."""
    while isinstance(node, (exp.Filter, exp.WithinGroup)):
        node = node.this
    return node if row_function(node) in AGGREGATES else None


class _PatternReader:
    """Tokens of a row pattern, by recursive descent."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.at = 0

    def read(self) -> RowNode:
        node = self.alternation()
        assert self.at == len(self.tokens), self.tokens[self.at :]
        return node

    def peek(self, ahead: int = 0) -> str:
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ""

    def take(self, *wanted: str) -> bool:
        if [self.peek(i).upper() for i in range(len(wanted))] == list(wanted):
            self.at += len(wanted)
            return True
        return False

    def alternation(self) -> RowNode:
        parts = [self.concatenation()]
        while self.take("|"):
            parts.append(self.concatenation())
        return parts[0] if len(parts) == 1 else Alternation(tuple(parts))

    def concatenation(self) -> RowNode:
        parts = []
        while self.peek() not in ("", "|", ")", ",") and (self.peek(), self.peek(1)) != ("-", "}"):
            parts.append(self.quantified())
        return parts[0] if len(parts) == 1 else Concatenation(tuple(parts))

    def quantified(self) -> RowNode:
        node = self.primary()
        bounds = self.bounds()
        if bounds is None:
            return node
        return Quantified(node, *bounds, greedy=not self.take("?"))

    def bounds(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.take(sign):
                return bounds
        if self.peek() != "{" or self.peek(1) == "-":
            return None
        end = self.tokens.index("}", self.at)
        low, comma, high = "".join(self.tokens[self.at + 1 : end]).partition(",")
        self.at = end + 1
        least = int(low or 0)
        return least, (int(high) if high else None) if comma else least

    def primary(self) -> RowNode:
        if self.take("^"):
            return Anchor(True)
        if self.take("$"):
            return Anchor(False)
        if self.take("(", ")"):
            return Empty()
        if self.take("("):
            node = self.alternation()
            assert self.take(")")
            return node
        if self.take("{", "-"):
            node = Exclusion(self.alternation())
            assert self.take("-", "}")
            return node
        if self.take("PERMUTE", "("):
            parts = [self.alternation()]
            while self.take(","):
                parts.append(self.alternation())
            assert self.take(")")
            return Permutation(tuple(parts))
        self.at += 1
        return Variable(name_of(self.tokens[self.at - 1]))
