"""Getting what a peer needs: Python packages and jars, under `build/peers`, never in the environment of the project."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peers.asking import NotHere

JAVA = Path(__file__).parent / "java"


def python_module(module: str, package: str, build: Path) -> Any:
    """The module, from the environment or from a folder of its own that pip fills."""
    try:
        return importlib.import_module(module)
    except ImportError:
        folder = pip_folder(package, build, [package])
        sys.path.append(str(folder))
        importlib.invalidate_caches()
        return importlib.import_module(module)


def pip_folder(name: str, build: Path, packages: Sequence[str]) -> Path:
    """A folder with the packages and what they depend on."""
    folder = build / name
    if not (folder / ".done").exists():
        _run([*_PIP, "install", "--target", str(folder), *packages], f"pip could not install {name}")
        (folder / ".done").touch()
    return folder


def flink_jars(build: Path) -> list[Path]:
    """Out of the Python package with Flink's libraries, only the jars that a job of ours is run with."""
    folder = build / "flink"
    if not (folder / ".done").exists():
        _run(
            [*_PIP, "download", "--no-deps", "--dest", str(folder), "apache-flink-libraries==2.3.0"],
            "pip could not download Flink's libraries",
        )
        (wheel,) = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.startswith("pyflink/lib/") and name.endswith(".jar") and "table" not in name:
                    (folder / Path(name).name).write_bytes(archive.read(name))
        wheel.unlink()
        (folder / ".done").touch()
    return sorted(folder.glob("*.jar"))


def maven_jars(name: str, build: Path) -> list[Path]:
    """The jars of a profile in `java/pom.xml`."""
    folder = build / name
    if not (folder / ".done").exists():
        command = [
            "mvn",
            "-q",
            "-B",
            "-f",
            str(JAVA / "pom.xml"),
            f"-P{name}",
            "dependency:copy-dependencies",
        ]
        command += ["-DincludeScope=runtime", f"-DoutputDirectory={folder.resolve()}"]
        _run(command, f"mvn could not fetch {name}")
        (folder / ".done").touch()
    return sorted(folder.glob("*.jar"))


def compiled(folders: Sequence[str], jars: Sequence[Path], build: Path) -> Path:
    """The folder with the classes of some folders under `java`, compiled against the jars if a source is newer."""
    folder = build / f"{folders[-1]}-classes"
    sources = sorted([*JAVA.glob("*.java"), *(s for name in folders for s in (JAVA / name).glob("*.java"))])
    stamp = folder / ".done"
    if not stamp.exists() or stamp.stat().st_mtime < max(s.stat().st_mtime for s in sources):
        folder.mkdir(parents=True, exist_ok=True)
        path = ":".join(map(str, jars))
        _run(
            ["javac", "-nowarn", "-d", str(folder), "-cp", path, *map(str, sources)],
            f"javac could not compile {folders[-1]}",
        )
        stamp.touch()
    return folder


_PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


def _run(command: list[str], trouble: str) -> None:
    if shutil.which(command[0]) is None:
        raise NotHere(f"there is no {command[0]} on this machine")
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode:
        raise NotHere(f"{trouble}: {(done.stderr or done.stdout).strip()[-1500:]}")
