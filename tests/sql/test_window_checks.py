"""Row patterns in windows: how a SELECT is cut, what is asked over windows, what is wrong and where."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cepheid
from cepheid.errors import CepheidError, EvaluationError
from cepheid.sql_lang.read_windowed_select import windowed_selects
from cepheid.sql_lang.scan import STANDARD
from cepheid.sql_lang.select_parts import Part, read_select, select_around
from cepheid.sql_lang.source import SqlSource

ROWS = pa.table({"id": [1, 2, 3], "x": [5, 7, 6], "g": ["a", "a", "b"]})
FRAME = "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"
GOOD = f"(ORDER BY id MEASURES COUNT(*) AS n {FRAME} PATTERN (A+) DEFINE A AS x > 1)"


def source_of(text: str) -> SqlSource:
    return SqlSource(text, dialect=STANDARD)


# How a SELECT is cut.


def parts_of(text: str, at: int | None = None) -> dict[str, str]:
    source = source_of(text)
    where = source.tokens.index(next(t for t in source.tokens if t.word == "SELECT")) if at is None else at
    select = read_select(source, where)
    found = {part.value: select.text(tokens) for part, tokens in select.parts.items()}
    return {"items": " | ".join(select.text(item) for item in select.items), **found}


def test_all_parts() -> None:
    text = """SELECT DISTINCT a, f(b, c) AS d FROM t WHERE x IS DISTINCT FROM y GROUP BY 1, (2) HAVING count(*) > 1
        WINDOW w AS (ORDER BY a), v AS w QUALIFY rank() OVER w > 1 ORDER BY a LIMIT 3 OFFSET 2"""
    assert parts_of(text) == {
        "items": "a | f(b, c) AS d",
        "FROM": "FROM t",
        "WHERE": "WHERE x IS DISTINCT FROM y",
        "GROUP BY": "GROUP BY 1, (2)",
        "HAVING": "HAVING count(*) > 1",
        "WINDOW": "WINDOW w AS (ORDER BY a), v AS w",
        "QUALIFY": "QUALIFY rank() OVER w > 1",
        "ORDER BY": "ORDER BY a",
        "LIMIT": "LIMIT 3 OFFSET 2",
    }


def test_words_that_are_names() -> None:
    text = "SELECT t.from, x AS where, offset, t.limit FROM t WHERE offset > 1 AND t.order = 2 LIMIT 1"
    assert parts_of(text) == {
        "items": "t.from | x AS where | offset | t.limit",
        "FROM": "FROM t",
        "WHERE": "WHERE offset > 1 AND t.order = 2",
        "LIMIT": "LIMIT 1",
    }


def test_a_union_has_the_order() -> None:
    text = "SELECT a FROM t UNION ALL SELECT b FROM u ORDER BY 1 LIMIT 2"
    assert parts_of(text) == {"items": "a", "FROM": "FROM t"}
    second = [i for i, t in enumerate(source_of(text).tokens) if t.word == "SELECT"][1]
    assert parts_of(text, second) == {"items": "b", "FROM": "FROM u"}


def test_a_star_without_some_columns_is_no_set_operation() -> None:
    assert parts_of("SELECT * EXCEPT (a) FROM t")["items"] == "* EXCEPT (a)"


def test_the_select_around() -> None:
    source = source_of("SELECT f((SELECT g(a)), b) FROM t")
    selects = [i for i, t in enumerate(source.tokens) if t.word == "SELECT"]
    by_name = {t.text: i for i, t in enumerate(source.tokens)}
    assert select_around(source, by_name["a"]) == selects[1]
    assert select_around(source, by_name["b"]) == selects[0]
    assert Part.FROM in read_select(source, selects[0]).parts
    assert Part.FROM not in read_select(source, selects[1]).parts


# What is asked of the database, and what of the matcher.


def test_the_text_around_stays_as_it_is_written() -> None:
    text = f"""SELECT  x  +  1  AS y, coalesce( t.x , n OVER w ) FROM t /* all */ WHERE  x>1 WINDOW w AS {GOOD}"""
    (select,) = windowed_selects(source_of(text), "duckdb")
    assert (
        select.inner() == "SELECT x  +  1  AS y, CAST(NULL AS INT), (t.x), (x > 1), (id)\nFROM t\nWHERE  x>1"
    )
    assert [item.text for item in select.items] == ["x  +  1  AS y", "coalesce( __i0 , __u0 )"]


def test_leaves_are_whole_where_rows_are_grouped() -> None:
    text = f"""SELECT lower(g) AS k, concat(lower(g), n OVER w, sum(x) FILTER (WHERE x > 1)) AS v,
        sum(count(*) + 1) OVER w FROM t GROUP BY lower(g)
        WINDOW w AS (ORDER BY lower(g) MEASURES COUNT(*) AS n {FRAME} PATTERN (A+))"""
    (select,) = windowed_selects(source_of(text), "duckdb")
    assert select.leaves == ("count(*)", "lower(g)", "sum(x) FILTER (WHERE x > 1)")
    assert select.items[1].text == "concat(__i1, __u0, __i2)"
    ((_, aggregate),) = select.windows[0].aggregates
    assert aggregate == "sum(__i0 + 1) FILTER (WHERE __nth IS NOT NULL)"


@pytest.mark.parametrize(
    ("query", "name"),
    [
        (f"SELECT n OVER {GOOD} FROM t", "n"),
        (f"SELECT n OVER {GOOD} AS size FROM t", "size"),
        (f"SELECT n OVER {GOOD} size FROM t", "size"),
        (f"SELECT count(*)   OVER w FROM t WINDOW w AS {GOOD}", "count(*) OVER w"),
        (f"SELECT 1 + n OVER {GOOD} FROM t", "1 + n OVER (...)"),
    ],
)
def test_names_of_columns(query: str, name: str) -> None:
    assert cepheid.sql(query, t=ROWS).column_names == [name]


# What is wrong, and where.


@pytest.mark.parametrize(
    ("query", "code", "at", "message"),
    [
        (f"SELECT m OVER w FROM t WINDOW w AS {GOOD}", "unknown_measure", "m OVER", "no measure `m`"),
        (f"SELECT t.n OVER w FROM t WINDOW w AS {GOOD}", "unknown_measure", "t.n OVER", "no measure `t.n`"),
        (
            "SELECT n OVER (ORDER BY id MEASURES 1 AS n PATTERN (A)) FROM t",
            "missing_frame",
            "ORDER BY",
            "needs a frame",
        ),
        (
            f"SELECT n OVER (MEASURES 1 AS n {FRAME} PATTERN (A)) FROM t",
            "missing_order",
            "MEASURES",
            "needs ORDER BY",
        ),
        (
            "SELECT count(*) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW PATTERN (A)) FROM t",
            "bad_frame",
            "ROWS BETWEEN",
            "begins with the current row",
        ),
        (
            "SELECT count(*) OVER (ORDER BY id RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A)) FROM t",
            "bad_frame",
            "RANGE",
            "begins with the current row",
        ),
        (
            "SELECT count(*) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND 1 PRECEDING PATTERN (A)) FROM t",
            "bad_frame",
            "ROWS BETWEEN",
            "ends with the current row or behind it",
        ),
        (
            f"SELECT count(*) OVER (ORDER BY id {FRAME} EXCLUDE CURRENT ROW PATTERN (A)) FROM t",
            "bad_frame",
            "ROWS BETWEEN",
            "can be excluded",
        ),
        (
            f"SELECT count(*) OVER (ORDER BY id {FRAME} PATTERN (^ A)) FROM t",
            "anchor_in_window",
            "^",
            "`^` and `$`",
        ),
        (
            f"SELECT count(*) OVER (ORDER BY id {FRAME} PATTERN (A $)) FROM t",
            "anchor_in_window",
            "$",
            "`^` and `$`",
        ),
        (
            f"SELECT n OVER (ORDER BY id MEASURES MATCH_NUMBER() AS n {FRAME} PATTERN (A)) FROM t",
            "match_number_in_window",
            "MATCH_NUMBER",
            "no number",
        ),
        (
            f"SELECT count(*) OVER (ORDER BY id {FRAME} PATTERN (A) DEFINE A AS MATCH_NUMBER() > 1) FROM t",
            "match_number_in_window",
            "MATCH_NUMBER",
            "no number",
        ),
        (
            f"SELECT count(*) OVER (ORDER BY id {FRAME} PATTERN (A) DEFINE A AS B.x > 1) FROM t",
            "unknown_variable",
            "B.x",
            "`B` is no variable",
        ),
        (
            "SELECT count(*) OVER (ORDER BY id ALL ROWS PER MATCH PATTERN (A)) FROM t",
            "section_not_here",
            "ALL ROWS",
            "only in MATCH_RECOGNIZE",
        ),
        (f"SELECT id FROM t WHERE n OVER w > 1 WINDOW w AS {GOOD}", "window_not_here", "n OVER", "in WHERE"),
        (
            f"SELECT max(x) FROM t GROUP BY n OVER w WINDOW w AS {GOOD}",
            "window_not_here",
            "n OVER",
            "in GROUP BY",
        ),
        (
            f"SELECT max(x) FROM t GROUP BY g HAVING n OVER w > 1 WINDOW w AS {GOOD}",
            "window_not_here",
            "n OVER",
            "in HAVING",
        ),
        (
            f"SELECT sum(n OVER w) OVER w FROM t WINDOW w AS {GOOD}",
            "nested_window",
            "n OVER",
            "in another window",
        ),
        (
            f"SELECT sum(n OVER w) OVER () FROM t WINDOW w AS {GOOD}",
            "nested_window",
            "n OVER",
            "in another window",
        ),
        (
            f"SELECT rank() OVER (ORDER BY n OVER w) FROM t WINDOW w AS {GOOD}",
            "nested_window",
            "n OVER",
            "in another window",
        ),
        (
            f"SELECT 1, sum(n OVER w) FROM t WINDOW w AS {GOOD}",
            "nested_window",
            "sum(n",
            "which comes after it",
        ),
        (f"SELECT sum(x) OVER (w) FROM t WINDOW w AS {GOOD}", "bad_base", "w) FROM", "has a row pattern"),
        (
            f"SELECT n OVER w FROM t WINDOW v AS {GOOD}, w AS (v MEASURES 1 AS n {FRAME} PATTERN (A))",
            "bad_base",
            "v MEASURES",
            "has a row pattern",
        ),
        (
            f"SELECT n OVER w FROM t WINDOW v AS (ORDER BY id {FRAME}), w AS (v MEASURES 1 AS n {FRAME} PATTERN (A))",
            "bad_base",
            "v MEASURES",
            "has a frame",
        ),
        (
            f"SELECT count(*) OVER w FROM t WINDOW v AS (ORDER BY id), w AS (v ORDER BY x {FRAME} PATTERN (A))",
            "bad_base",
            "v ORDER",
            "has an ORDER BY already",
        ),
        (
            f"SELECT count(*) OVER w FROM t WINDOW v AS (ORDER BY id), w AS (v PARTITION BY g {FRAME} PATTERN (A))",
            "bad_base",
            "v PARTITION",
            "PARTITION BY cannot stand",
        ),
        (
            f"SELECT n OVER w FROM t WINDOW w AS (v MEASURES 1 AS n {FRAME} PATTERN (A)), v AS (ORDER BY id)",
            "unknown_window",
            "v MEASURES",
            "no window `v` before",
        ),
        (
            f"SELECT n OVER w FROM t WINDOW w AS {GOOD}, w AS (ORDER BY id)",
            "duplicate_window",
            "w AS (ORDER BY id)",
            "two windows",
        ),
        (f"FROM t SELECT n OVER w WINDOW w AS {GOOD}", "window_select", "SELECT", "before SELECT"),
        (
            f"SELECT g, n OVER w FROM t GROUP BY ALL WINDOW w AS {GOOD}",
            "window_select",
            "GROUP BY ALL",
            "GROUP BY ALL",
        ),
        (
            f"SELECT x FROM t UNION SELECT x FROM t ORDER BY n OVER {GOOD}",
            "window_select",
            "(ORDER BY id",
            "several SELECTs",
        ),
        (
            f"SELECT nth_value(x, 2) IGNORE NULLS OVER w FROM t WINDOW w AS {GOOD}",
            "bad_window_function",
            "nth_value",
            "leave out nulls",
        ),
        (
            f"SELECT first_value(x) FILTER (WHERE x > 1) OVER w FROM t WINDOW w AS {GOOD}",
            "bad_window_function",
            "first_value",
            "cannot have FILTER",
        ),
        (
            f"SELECT n OVER (ORDER BY id MEASURES sum(x) OVER () AS n {FRAME} PATTERN (A)) FROM t",
            "nested_query",
            "sum(x) OVER",
            "a window function cannot stand",
        ),
        (
            f"SELECT n OVER (ORDER BY id MEASURES COUNT(*) AS n, SUM(x) AS n {FRAME} PATTERN (A)) FROM t",
            "duplicate_measure",
            f"n {FRAME}",
            "two measures",
        ),
    ],
)
def test_mistakes(query: str, code: str, at: str, message: str) -> None:
    with pytest.raises(CepheidError) as caught:
        cepheid.sql(query, t=ROWS)
    assert caught.value.code == code, caught.value
    assert message in caught.value.message
    assert caught.value.place is not None
    assert caught.value.place.column == query.index(at) + 1, caught.value


@pytest.mark.parametrize("end", ["-1", "NULL", "x - 6", "0.5"])
def test_the_end_of_a_frame_must_be_a_number_of_rows(end: str) -> None:
    query = (
        f"SELECT count(*) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND {end} FOLLOWING PATTERN (A)) FROM t"
    )
    with pytest.raises(EvaluationError) as caught:
        cepheid.sql(query, t=ROWS)
    assert caught.value.code == "bad_frame_end"


def test_what_only_the_database_knows_it_says() -> None:
    for item in ("nothing + (n OVER w)", "no_such(x) OVER w", "n OVER w, missing"):
        with pytest.raises(CepheidError) as caught:
            cepheid.sql(f"SELECT {item} FROM t WINDOW w AS {GOOD}", t=ROWS)
        assert caught.value.code == "database"


def test_a_subquery_that_looks_outside_is_refused() -> None:
    query = f"SELECT id, (SELECT max(n OVER w) FROM t AS i WHERE i.id = o.id WINDOW w AS {GOOD}) FROM t AS o"
    with pytest.raises(CepheidError):
        cepheid.sql(query, t=ROWS)


def test_columns_that_are_several() -> None:
    query = f"SELECT unnest({{'a': 1, 'b': 2}}), n OVER w FROM t WINDOW w AS {GOOD}"
    with pytest.raises(CepheidError) as caught:
        cepheid.sql(query, t=ROWS)
    assert caught.value.code == "several_columns"


def test_types_are_those_of_the_database() -> None:
    """What goes past the matcher does not go through it: an hour stays an hour, a big number a big number."""
    query = f"""SELECT CAST('01:02:03' AS TIME) AS h, sum(x) OVER (ORDER BY id) AS s, uuid() IS NULL AS u, n OVER w,
        sum(x) OVER w AS t FROM t WINDOW w AS {GOOD}"""
    plain = "SELECT CAST('01:02:03' AS TIME) AS h, sum(x) OVER (ORDER BY id) AS s FROM t"
    found, wanted = cepheid.sql(query, t=ROWS), cepheid.sql(plain, t=ROWS)
    assert [found.schema.field(n).type for n in ("h", "s")] == [
        wanted.schema.field(n).type for n in ("h", "s")
    ]
    assert found.schema.field("t").type == wanted.schema.field("s").type
