"""Big Parquet input on one machine, through the compiled matcher.

    .venv/bin/python benchmarks/local_files.py [--events 10000000] [--keys 100000] [--folder EVENTS]

Checks the answer first, against the reference matcher on a sample of keys. Then times, on one core: sorting the
arrays that the kernel gets by (key, time), which is the yardstick, and the kernel; then all of it, from Parquet to
the table of matches, on all cores, in a process of its own, with its peak memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import cepheid
from cepheid.engines.columnar.choice import cores
from cepheid.engines.columnar.groups import groups_of
from cepheid.engines.columnar.kept import FIELD, TIME, TYPE, table_of
from cepheid.engines.columnar.key_codes import key_codes
from cepheid.engines.columnar.matching import Sorted
from cepheid.engines.columnar.reading import PieceReader, read_all
from cepheid.engines.local.run import Job
from cepheid.engines.options import make_options
from cepheid.matching.compiled.columns import to_events
from cepheid.matching.compiled.compiled_plan import CompiledPlan, Kernel, Keys
from cepheid.matching.compiled.keyed_rows import KeyedRows, places_of
from cepheid.matching.compiled.needed_rows import needed_by
from cepheid.matching.compiled.select_rows import Selected, select_rows

QUERY = """Login as l -> Payment[amount > 700] as p -> Payment[amount > p.amount] as q
    .within(1d) .partition_by(user) .emit(id: match_id(), user: user, first: p.amount, second: q.amount)"""
# Of 100 events, what they are. Sixty are of a type that the query does not name.
TYPES = (("View", 60), ("Payment", 12), ("Login", 8), ("LoginFailed", 6), ("Order", 7), ("Confirm", 7))
FILES, SAMPLE = 16, 200


def make_events(folder: Path, count: int, keys: int) -> Path:
    """In time order from file to file, the same every time."""
    path = folder / f"local_{count}_{keys}"
    if (path / f"{FILES - 1:02}.parquet").exists():
        return path
    path.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(7)
    names = pa.array([name for name, share in TYPES for _ in range(share)])
    users = pa.array([f"user-{i}" for i in range(keys)])
    step = 10 * 86_400 * 1_000_000 // count  # ten days
    for number, first in enumerate(range(0, count, -(-count // FILES))):
        rows = min(-(-count // FILES), count - first)
        times = 1_700_000_000_000_000 + np.arange(first, first + rows) * step
        table = {
            "type": names.take(pa.array(random.integers(0, 100, rows))),
            "time": pa.array(times).cast(pa.timestamp("us", "UTC")),
            "user": users.take(pa.array(random.integers(0, keys, rows))),
            "amount": pa.array(random.integers(1, 100_000, rows) / 100),
            "page": pa.array(random.integers(0, 5_000, rows)),
        }
        pq.write_table(pa.table(table), path / f"{number:02}.parquet")
    return path


def check(events: Path, found: pa.Table) -> int:
    """The same matches for some keys as the reference matcher finds; how many there were."""
    users = pc.unique(found["user"])[:: max(len(pc.unique(found["user"])) // SAMPLE, 1)]
    some = pq.read_table(events, filters=pc.field("user").isin(users))
    wanted = cepheid.match(QUERY, some, engine="reference")
    mine = found.filter(pc.is_in(found["user"], users))
    if not mine.equals(wanted):
        raise SystemExit("the compiled matcher and the reference matcher do not agree")
    return len(wanted)


def kernel_and_sort(events: Path) -> dict[str, float]:
    """Seconds of one core for the rows that are left after the tests of each event alone."""
    job = Job(QUERY, events, make_options(), engine="compiled")
    scan, columns = job.choice.scan, job.source.columns
    assert scan is not None
    (group,) = groups_of(job.choice.streams, scan, columns)
    with ThreadPoolExecutor(cores()) as pool:
        reader = PieceReader([group], scan, columns)
        kept = [batch for piece in read_all(scan, reader.read, pool, cores()) for batch in piece.kept[0]]
    table = table_of(kept, group.schema).combine_chunks()
    times, (codes, _) = table[TIME].to_numpy(), key_codes(group.plan, table)
    shuffled = np.random.default_rng(1).permutation(len(times))
    sorting = least(lambda: np.lexsort((times, codes)))
    sorting_shuffled = least(lambda: np.lexsort((times[shuffled], codes[shuffled])))
    alone = ThreadPoolExecutor(1)
    rows = Sorted.of(group, table, 0, alone)
    stream = group.streams[0]
    compiled = stream.compiled
    assert isinstance(compiled, CompiledPlan)
    fields = table.select([FIELD + "amount"]).rename_columns(["amount"]).take(pa.array(rows.rows))
    kinds = np.array([compiled.types[name] for name in group.types])[table[TYPE].to_numpy()]
    made = [times[rows.rows], rows.tested.shared[0], kinds[rows.rows]]
    matrices = to_events(fields, compiled.columns, *made)
    keys, kernel, end = Keys.without_state(rows.offsets), Kernel(compiled), int(times[-1])
    matching = least(lambda: kernel.match(matrices, keys, end, ends=True))
    needed = needed_by(stream.plan)
    numbers = {test: i for i, test in enumerate(group.bits.tests)}
    places = places_of([numbers[test] for test in stream.bits.tests])

    def select() -> Selected:
        return select_rows(
            needed, places, KeyedRows.of(list(rows.tested.shared), rows.tested.times, rows.offsets)
        )

    found = select()
    fewer = (rows.tested.times[found.rows], found.bits, made[2][found.rows], found.ranks)
    matrices_left = to_events(fields.take(pa.array(found.rows)), compiled.columns, *fewer)
    keys_left = Keys.without_state(found.offsets)
    return {
        "rows_left": len(found.rows),
        "prune": least(select),
        "kernel_left": least(lambda: kernel.match(matrices_left, keys_left, end, ends=True)),
        "rows": len(times),
        "sort": sorting,
        "sort_shuffled": sorting_shuffled,
        "own_sort": least(lambda: Sorted.of(group, table, 0, alone)),
        "kernel": matching,
    }


def least(work: object, times: int = 3) -> float:
    """Seconds of the processor, of the fastest of several: others may use the machine too."""
    found = []
    for _ in range(times):
        began = time.process_time()
        work()  # type: ignore[operator]
        found.append(time.process_time() - began)
    return min(found)


def end_to_end(events: Path) -> dict[str, float]:
    """In this process: twice, the second time with the kernel loaded."""
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        found = cepheid.match(QUERY, events)
        seconds.append(time.perf_counter() - began)
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "first": seconds[0],
        "again": seconds[1],
        "cpu": used.ru_utime + used.ru_stime,
        "peak": used.ru_maxrss / 1024,
        "matches": len(found),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="Parquet files with the columns type, time, user, amount")
    parser.add_argument("--end-to-end", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    events = given.folder or make_events(Path("build/bench"), given.events, given.keys)
    if given.end_to_end:
        print(json.dumps(end_to_end(events)))
        return
    count = sum(pq.read_metadata(path).num_rows for path in events.glob("*.parquet"))
    print(f"{count:,} events, {cores()} cores")
    print(f"checked: {check(events, cepheid.match(QUERY, events)):,} matches of {SAMPLE} keys agree")
    one = kernel_and_sort(events)
    rows = one["rows"]
    print(f"{rows:,} rows pass a test; on one core:")
    for what, name in (
        ("np.lexsort by key and time, as they come (in time order)", "sort"),
        ("np.lexsort by key and time, shuffled", "sort_shuffled"),
        ("our own sort by key, its numbers included", "own_sort"),
        ("kernel, over all of them", "kernel"),
        ("taking out rows that can be in no match", "prune"),
        (f"kernel, over the {one['rows_left']:,} that are left", "kernel_left"),
    ):
        print(f"  {what:58} {one[name]:6.2f} s  {rows / one[name]:14,.0f} rows/s")
    print(f"  what is done: taking out and kernel, {one['prune'] + one['kernel_left']:.2f} s")
    child = subprocess.run(
        [sys.executable, __file__, "--end-to-end", "--folder", str(events)],
        stdout=subprocess.PIPE,
        check=True,
    )
    whole = json.loads(child.stdout)
    Path("build/bench/local_files.json").write_text(
        json.dumps({"events": count} | one | whole, indent=1) + "\n"
    )
    for what, name in (("with the kernel's loading", "first"), ("again", "again")):
        print(f"end to end, {what:25} {whole[name]:6.2f} s  {count / whole[name]:14,.0f} events/s")
    print(f"{whole['matches']:,.0f} matches; peak memory {whole['peak']:,.0f} MiB")
    print(f"both runs together: {whole['cpu']:.1f} s of processor, imports and the kernel's loading included")


if __name__ == "__main__":
    main()
