"""`explain`: what a user reads about a plan, as text and as a diagram."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from cepheid.engines.program import Program, compile
from cepheid.explain import explain_text, explanation_of, mermaid, program_mermaid
from cepheid.pattern.builder import event
from cepheid.plan.plan import Plan
from cepheid.testing.scenarios import Scenario, load_scenarios

SCENARIOS = list(load_scenarios(Path(__file__).parent / "scenarios"))


def _explained(query: object) -> str:
    (planned,) = compile(query).streams
    return explain_text(planned.plan, planned.stream.pattern)


def _streams(program: Program) -> Sequence[tuple[str, Plan, Sequence[str]]]:
    return [(s.name, s.plan, s.feeds_on) for s in program]


def test_a_sequence_with_an_inferred_key() -> None:
    assert _explained(
        "login as l -> transfer as t .within(5m) .where(l.user == t.user and t.amount > 5000)"
    ) == (
        """\
pattern
  login as l -> transfer as t .within(5m) .where(l.user == t.user and t.amount > 5000)

after rewrites
  login as l -> transfer[l.user == user and amount > 5000] as t .within(5m)

partition
  by user, inferred: these equalities tie every step
    t  l.user == user

window
  5m from the first event of a match to its last

matching
  selection  stam (default): at an event that fits, one copy of the run takes it and one waits on
  emission   each (default): no closure, no choice
  skip       none (default): matches may overlap

state
  after  waits for  kept                          runs of a partition
  l      t          for 5m after its first event  up to n
  n: the events of a partition from a run's first event to the end of its wait
  of each event of a run: all its fields
  limit: 1,000,000 open runs a partition, then an error

steps
  step  event     decided by the event alone  looks at other events
  l     login     -                           -
  t     transfer  amount > 5000               l.user == user

transitions
  START --> l
  l --any--> t
  t is complete
"""
    )


def test_a_closure_without_a_window() -> None:
    assert _explained("Small[amount < 1000]{2,} as s -> Large as b .where(sum(s.amount) > 9 * b.amount)") == (
        """\
pattern
  Small[amount < 1000]{2,} as s -> Large as b .where(sum(s.amount) > 9 * b.amount)

partition
  one partition: all events

window
  none over the whole pattern

matching
  selection  stam (default): at an event that fits, one copy of the run takes it and one waits on
  emission   each (default): a match for each prefix of a closure
  skip       none (default): matches may overlap

state
  after  waits for  kept                              runs of a partition
  s      s or b     until it completes or is stopped  n²: no end
  n: the events of a partition from a run's first event to the end of its wait
  of each event of a run: all its fields
  limit: 1,000,000 open runs all in all, then an error

steps
  step      event  decided by the event alone  looks at other events
  s (list)  Small  amount < 1000               -
  b         Large  -                           -

conditions on the whole pattern
  sum(s.amount) > 9 * b.amount  tested: s --any--> b

transitions
  START --> s
  s --any--> s   (loop of s: takes every event that fits)
  s --any--> b   (after 2 or more of s)
  b is complete

warnings
  ! no window, and s goes on for ever: state grows without bound: add .within(...)
  ! not partitioned: events of all users, devices, ... meet in one match; add .partition_by(...)
"""
    )


def test_absences_and_guards_with_a_key_that_was_named() -> None:
    query = (
        "Order as o -> NOT Cancel -> Ship as s within 2d -> NOT Paid[no == o.no] within 7d "
        "unless Refund[amount > 0] between o and s .partition_by(customer) .stnm() .skip(past_last)"
    )
    assert _explained(query) == (
        """\
pattern
  Order as o -> NOT Cancel -> Ship as s within 2d -> NOT Paid[no == o.no] within 1w \
unless Refund[amount > 0] between o and s .partition_by(customer) .stnm() .skip(past_last)

partition
  by customer

window
  none over the whole pattern

matching
  selection  stnm: a run takes the first event that fits; an event serves one match
  emission   each (default): no closure, no choice
  skip       past_last: after a match, none that starts before its last event has passed

state
  after  waits for  kept                         runs of a partition
  o      s          for 2d after its last event  up to n
  s      no Paid    for 1w after its last event  up to n
  n: the events of a partition from a run's first event to the end of its wait
  of each event of a run: all its fields
  limit: 1,000,000 open runs a partition, then an error

steps
  step  event  decided by the event alone  looks at other events
  o     Order  -                           -
  s     Ship   -                           -

absences and guards
  what                where                    decided by the event alone  looks at other events
  NOT Cancel          after o, before s        -                           -
  NOT Paid within 1w  after s, for 1w          -                           no == o.no
  unless Refund       from o until s is taken  amount > 0                  -

transitions
  START --> o
  o --first--> s  (at most 2d after the event before)
  s is complete   (once it is certain that no Paid came)
"""
    )


def test_a_rising_closure_shows_no_name_of_ours() -> None:
    assert _explained("AND(Open as o, Bell) -> all Tick.increasing(price) -> Close as c .within(1h)") == (
        """\
pattern
  AND(Open as o, Bell) -> Tick+ .increasing(price) -> Close as c .within(1h)

after rewrites
  AND(Open as o, Bell) -> Tick[price > previous.price]+ -> Close as c .within(1h) .longest()

partition
  one partition: all events

window
  1h from the first event of a match to its last

matching
  selection  stam (default): at an event that fits, one copy of the run takes it and one waits on
  emission   longest (implied by .increasing or .decreasing): \
of the matches complete at one moment, only those no other contains
  skip       none (default): matches may overlap

state
  after     waits for  kept                          runs of a partition
  o         Bell       for 1h after its first event  up to n
  Bell      o          for 1h after its first event  up to n
  o & Bell  Tick       for 1h after its first event  up to n²
  Tick      Tick or c  for 1h after its first event  up to n³
  n: the events of a partition from a run's first event to the end of its wait
  of each event of a run: all its fields
  limit: 1,000,000 open runs all in all, then an error

steps
  step         event  decided by the event alone  looks at other events
  o            Open   -                           -
  Bell         Bell   -                           -
  Tick (list)  Tick   -                           price > previous.price
  c            Close  -                           -

transitions
  START --> o
  START --> Bell
  o --any--> o & Bell
  Bell --any--> o & Bell
  o & Bell --first--> Tick
  Tick --any--> Tick        (loop of Tick: takes every event that fits)
  Tick --any--> c
  c is complete

warnings
  ! not partitioned: events of all users, devices, ... meet in one match; add .partition_by(...)
"""
    )


@pytest.mark.parametrize(
    ("query", "warning"),
    [
        ("A as a -> B as b", "no window: every run waits on for ever"),
        # The bound of a group begins with its first event: until then there is none.
        (
            "X as x -> (A as a -> B as b) within 3s -> C as c within 5s .partition_by(u)",
            "no window: every run waits on for ever",
        ),
        ("A as a -> B as b .stnm()", "no window: a run that never completes is kept for ever"),
        (
            "A as a -> all B as b",
            "no window, and b goes on for ever: state grows without bound: add .within(...)",
        ),
        ("A as a -> all B as b .stnm() .subsets()", "state grows without bound: add .within(...)"),
        (
            "A as a -> all B as b .within(1h) .subsets()",
            "every combination of b: n events give up to 2^n - 1",
        ),
        ("A as a -> (all any B as b -> C as c) .within(1h)", "every combination of b"),
        ("A as a -> B as b .within(1h)", "not partitioned"),
        (
            "A as a -> B as b -> C as c -> D as d .within(1h) .partition_by(u)",
            "no condition ties the steps up to c together: n events give up to n³ runs",
        ),
        (
            "A as a -> B as b within 2h -> C as c .within(1h) .partition_by(u)",
            "the bound of 2h inside the pattern never counts: the whole pattern has 1h",
        ),
    ],
)
def test_warns(query: str, warning: str) -> None:
    assert warning in _explained(query).partition("warnings\n")[2]


@pytest.mark.parametrize(
    "query",
    [
        "A as a -> B as b .within(1h) .partition_by(u)",
        "A as a -> B[u == a.u] as b .within(1h)",
        "A as a -> B as b .strict() .partition_by(u)",
        "A as a -> B as b within 5s -> C as c within 5s .partition_by(u)",
        "every (A as a -> B as b) .partition_by(u)",
        "A as a -> all B as b .stnm() .within(1h) .partition_by(u)",
        "A as a -> B{1,3} as b .subsets() .within(1h) .partition_by(u)",
        "A[v > 3] as a",
        "A as a -> B as b -> C as c -> D[v > a.v] as d .within(1h) .partition_by(u)",
        "A as a -> B as b -> C as c -> D as d .stnm() .within(1h) .partition_by(u)",
    ],
)
def test_has_nothing_to_warn_of(query: str) -> None:
    assert "warnings" not in _explained(query)


def test_warns_of_python_functions() -> None:
    def dear(a: object) -> bool:
        return True

    built = event("A").where(dear).as_("a") >> event("B").as_("b")
    assert "! a is tested by the Python function dear, which no planner can read" in _explained(built)


def test_a_named_plan_alone_shows_what_it_became() -> None:
    plan = compile("stream S = A as a -> B as b .where(b.v > 1)").last.plan
    assert explain_text(plan).startswith("pattern, after rewrites\n  A as a -> B[v > 1] as b\n")


PROGRAM = """
stream Failures = LoginFailed{3} as f .within(1m) .partition_by(user) .emit(user: user)
stream Break = Failures as x -> Login[user == x.user] as l .within(5m)
"""


def test_a_program_says_who_feeds_whom() -> None:
    program = compile(PROGRAM)
    text = str(program.explain())
    assert "stream Failures, feeds Break\n============================\n\npattern\n" in text
    assert "stream Break, feeds on Failures\n" in text


def test_diagram() -> None:
    plan = compile(
        'A as a -> NOT X[v > 1] -> all B["q" == a.q] as b -> C as c .where(c.v > sum(b.v))'
    ).last.plan
    assert mermaid(plan) == (
        """\
flowchart LR
  s0(("START"))
  s1("a")
  s2("b")
  s3((("c")))
  s0 -->|"A"| s1
  s1 -->|"first B<br/>#quot;q#quot; == a.q"| s2
  s2 -->|"any B<br/>#quot;q#quot; == a.q<br/>loop of b: takes every event that fits"| s2
  s2 -->|"any C<br/>if c.v #gt; sum(b.v)"| s3
  not0{{"NOT X"}}
  s1 -.->|"X<br/>v #gt; 1"| not0
"""
    )


def test_diagram_of_a_program() -> None:
    lines = program_mermaid(_streams(compile(PROGRAM))).splitlines()
    assert '  subgraph g0["Failures"]' in lines
    assert '  subgraph g1["Break"]' in lines
    assert lines[-1] == '  g0 ==>|"Failures"| g1'


def test_a_diagram_that_is_too_large_says_so() -> None:
    plan = compile("AND(" + ", ".join(f"E{i} as e{i}" for i in range(8)) + ")").last.plan
    assert "more transitions" in mermaid(plan)
    assert "... and" in explain_text(plan)


RUNNING = [s for s in SCENARIOS if "error" not in s.options]


@pytest.mark.parametrize("scenario", RUNNING, ids=lambda s: s.name)
def test_every_scenario_can_be_explained(scenario: Scenario) -> None:
    program = compile(scenario.query)
    for planned in program:
        text, diagram = explain_text(planned.plan, planned.stream.pattern), mermaid(planned.plan)
        assert not re.search(r"`?\$\d", text + diagram), "a hidden name got out"
        for kind in planned.plan.event_types:
            assert kind in text
            assert kind in diagram
        _check_mermaid(diagram)
    whole = str(explanation_of(_streams(program)))
    assert len(program.streams) == 1 or all(f"stream {s.name}" in whole for s in program)
    _check_mermaid(program_mermaid(_streams(program)))


_NODE = re.compile(r'(\w+)(?:\(\("[^"]+"\)\)|\("[^"]+"\)|\(\(\("[^"]+"\)\)\)|\{\{"[^"]+"\}\}|\["[^"]+"\])')
_EDGE = re.compile(r'(\w+) (?:-->|-\.->|==>)\|"[^"]+"\| (\w+)')
_GROUP = re.compile(r'subgraph (\w+)\["[^"]+"\]')


def _check_mermaid(text: str) -> None:
    """The part of Mermaid's grammar we use; every edge joins things that are there."""
    head, *lines = text.splitlines()
    assert head == "flowchart LR"
    there: set[str] = set()
    joined: set[str] = set()
    for line in (x.strip() for x in lines):
        if edge := _EDGE.fullmatch(line):
            joined.update(edge.groups())
        elif named := _NODE.fullmatch(line) or _GROUP.fullmatch(line):
            assert named[1] not in there
            there.add(named[1])
        else:
            assert line == "end", line
    assert joined <= there
