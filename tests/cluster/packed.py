"""A packed environment, and a Spark beside it: all that a node of a cluster has, and nothing of this project's .venv.

The steps are those of docs/cluster.md.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pyspark

PROJECT = Path(__file__).parents[2]
# What the extra `spark` names, without pyspark and Java: those are the cluster's own.
PACKAGES = ("pandas>=2.2", "protobuf>=6.33.5")


@dataclass(frozen=True)
class Packed:
    """Folders and files in `home`, which is also where jobs are submitted from."""

    home: Path

    @property
    def archive(self) -> Path:
        return self.home / "environment.tar.gz"

    @property
    def python(self) -> str:
        """The same words for the driver, which finds it in `home`, and for executors, which find it unpacked."""
        return "./environment/bin/python"

    @property
    def spark(self) -> Path:
        return self.home / "spark"

    def environment(self) -> dict[str, str]:
        """Of a node: no PYTHONPATH, and no .venv on the PATH."""
        names = ("HOME", "JAVA_HOME", "LANG", "TMPDIR")
        path = [p for p in os.environ["PATH"].split(os.pathsep) if not p.startswith(str(PROJECT))]
        return {
            **{name: os.environ[name] for name in names if name in os.environ},
            "PATH": os.pathsep.join(path),
            "SPARK_HOME": str(self.spark),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": self.python,
            "PYSPARK_DRIVER_PYTHON": self.python,
        }


def packed(home: Path, python: str) -> Packed:
    """`home` is kept from run to run: only cepheid itself is packed anew."""
    result = Packed(home)
    home.mkdir(parents=True, exist_ok=True)
    _install(home / "environment", python)
    with tarfile.open(result.archive, "w:gz", compresslevel=1) as archive:
        archive.add(home / "environment", ".")
    _copy_spark(result.spark)
    return result


def other_python() -> str:
    """A Python of another version than the one that runs the tests, if there is one: the workers' is the archive's."""
    for version in ("3.12", "3.13", "3.11"):
        name = os.environ.get("CLUSTER_PYTHON") or _found(version)
        if name and Path(name).resolve() != Path(sys.executable).resolve():
            return name
    return str(Path(sys.executable).resolve())


def _found(version: str) -> str | None:
    """On the PATH, or of pyenv, whose commands on the PATH may be switched off."""
    builds = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
    return str(builds[-1]) if builds else shutil.which(f"python{version}")


def _install(folder: Path, python: str) -> None:
    if not (folder / "bin" / "python").exists():
        # Copies, because a link to the Python that made it would be packed as a link.
        _run(python, "-m", "venv", "--clear", "--copies", str(folder))
    pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    _run(*pip, str(PROJECT), *PACKAGES)
    _run(*pip, "--force-reinstall", "--no-deps", str(PROJECT))


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


def _copy_spark(folder: Path) -> None:
    """pip's pyspark is a whole Spark. By links where that can be: it is half a gigabyte."""
    if folder.exists():
        shutil.rmtree(folder)
    shutil.copytree(Path(pyspark.__file__).parent, folder, copy_function=_link)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
