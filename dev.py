#!/usr/bin/env python3
"""Everything a developer runs, with nothing but a Python: ``python3 dev.py COMMAND``.

Only the standard library is used, and the file parses on Python 3.8, so that an unsuitable
machine is answered with one line and a remedy instead of a traceback.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CHECKOUT = Path(__file__).resolve().parent
OUT = CHECKOUT / "out"
WINDOWS = os.name == "nt"

OLDEST_PYTHON = (3, 10)
OTHER_PYTHONS = ["3.13", "3.12", "3.11", "3.10", "3.14"]

VENV = CHECKOUT / ".venv"
VENV_BIN = VENV / ("Scripts" if WINDOWS else "bin")
VENV_PYTHON = VENV_BIN / ("python.exe" if WINDOWS else "python")
VENV_STAMP = VENV / "installed.json"
VENV_LOG = VENV / "install.log"

GODOT_WANTED = "4.6"
# The system folder that `godot --install` makes stands outside the checkout: every clone uses it.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "navserver-dev"
GODOT_ROOT = CACHE / "godot-root"
GODOT_SUITE = "forky"
GODOT_PACKAGES = [
    "godot",
    # a screen without a screen, for what the editor and a game look like
    *["xvfb", "xauth", "libgl1-mesa-dri", "libgl1", "libegl1", "fonts-dejavu-core"],
    "ca-certificates",
]


class Stop(Exception):
    """The command cannot go on; the text is one line that ends with the remedy."""


def run(
    command: Sequence[object], env: dict[str, str] | None = None, timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program in the checkout, without a terminal, and keep what it prints."""
    return subprocess.run(
        [str(part) for part in command],
        cwd=CHECKOUT,
        env=env,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it printed nothing"


# --- a suitable Python -------------------------------------------------------------------------


def is_suitable(implementation: str, version: tuple[int, int]) -> bool:
    # numba has wheels for CPython alone
    return implementation == "cpython" and version >= OLDEST_PYTHON


def other_pythons() -> Iterator[list[str]]:
    """Commands that may start another Python, the preferred ones first."""
    for version in OTHER_PYTHONS:
        yield ["python" + version]
    if WINDOWS:
        for version in OTHER_PYTHONS:
            yield ["py", "-" + version]
    yield ["python3"]
    yield ["python"]


def find_suitable_python() -> str | None:
    question = "import sys; print(sys.implementation.name, *sys.version_info[:2], sys.executable)"
    for command in other_pythons():
        program = shutil.which(command[0])
        if not program:
            continue
        answer = run([program, *command[1:], "-c", question])
        found = re.fullmatch(r"(\w+) (\d+) (\d+) (.+)\n", answer.stdout)
        if found and is_suitable(found[1], (int(found[2]), int(found[3]))):
            return found[4]
    return None


def ensure_suitable_python(arguments: list[str]) -> None:
    """Go on in another Python of this machine where the running one is unsuitable."""
    if is_suitable(sys.implementation.name, sys.version_info[:2]):
        return
    this = "{} {}.{}".format(sys.implementation.name, *sys.version_info[:2])
    other = find_suitable_python()
    if not other:
        raise Stop(
            f"{this} is unsuitable and no CPython 3.10 or newer is on PATH: install one "
            "(python.org, or your system's packages) and run this again with it"
        )
    print(f"dev.py: {this} is unsuitable; going on with {other}", file=sys.stderr, flush=True)
    command = [other, str(Path(__file__).resolve()), *arguments]
    if WINDOWS:  # exec there would return to the prompt before the command has ended
        sys.exit(subprocess.call(command))
    os.execv(other, command)


# --- the environment ---------------------------------------------------------------------------


def running_python() -> str:
    return "{}.{}".format(*sys.version_info[:2])


def read_stamp() -> dict[str, object]:
    try:
        stamp = json.loads(VENV_STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def ready_environment(*extras: str) -> None:
    """Make `.venv` and install the project with these extras, where that has yet to be done."""
    stamp = read_stamp()
    if stamp.get("python") != running_python() or not VENV_PYTHON.exists():
        stamp = {}
        make_environment()
    project = hashlib.sha256((CHECKOUT / "pyproject.toml").read_bytes()).hexdigest()
    installed = stamp.get("extras")
    have: set[str] = {str(extra) for extra in installed} if isinstance(installed, list) else set()
    if stamp.get("project") == project and have.issuperset(extras):
        return
    wanted = sorted(have.union(extras))
    target = ".[{}]".format(",".join(wanted)) if wanted else "."
    print(f"dev.py: installing {target} into .venv", file=sys.stderr, flush=True)
    install([VENV_PYTHON, "-m", "pip", "install", "--quiet", "--editable", target])
    stamp = {"python": running_python(), "project": project, "extras": wanted}
    VENV_STAMP.write_text(json.dumps(stamp), encoding="utf-8")


def make_environment() -> None:
    if VENV.exists():
        if not (VENV / "pyvenv.cfg").exists():
            raise Stop(f"{VENV} is no Python environment: move it away and run this again")
        if Path(sys.prefix).resolve() == VENV.resolve():
            raise Stop(
                f"{VENV} has to be made anew, but runs this command: use a Python outside of it"
            )
        shutil.rmtree(VENV)
    print(f"dev.py: making .venv with Python {running_python()}", file=sys.stderr, flush=True)
    made = run([sys.executable, "-m", "venv", "--without-pip", VENV])
    if made.returncode:
        raise Stop(
            f"{sys.executable} -m venv failed ({last_line(made.stdout)}): install your system's "
            "venv package (Debian: python3-venv) or use a Python from python.org"
        )
    # Not every system's Python carries ensurepip; pip's own wheel can install itself.
    if run([VENV_PYTHON, "-m", "ensurepip", "--default-pip"]).returncode:
        wheel = download_pip(VENV)
        install([VENV_PYTHON, wheel / "pip", "install", "--quiet", "--no-index", wheel])


def install(command: Sequence[object]) -> None:
    environment = dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1")
    environment.setdefault("PIP_RETRIES", "2")  # pip's own 5 take a minute without a network
    done = run(command, env=environment)
    if done.returncode:
        VENV_LOG.write_text(done.stdout, encoding="utf-8")
        raise Stop(explain_pip(done.stdout))


CERTIFICATES_REMEDY = (
    "set SSL_CERT_FILE and PIP_CERT to your certificate bundle (for a python.org Python on macOS "
    "run its 'Install Certificates.command')"
)
NETWORK_REMEDY = (
    "connect to a network, or set PIP_INDEX_URL (and HTTPS_PROXY where one is used) to a package "
    "index that you can reach"
)


def explain_pip(log: str) -> str:
    """One line for a failed installation: the cause, the remedy, and where the rest stands."""
    errors = re.findall(r"^error: *(.+)$", log, re.IGNORECASE | re.MULTILINE)
    cause = errors[-1] if errors else last_line(log)
    if re.search(r"CERTIFICATE_VERIFY_FAILED|SSLError|TLS CA certificate", log):
        cause, remedy = "a package index's certificate cannot be verified", CERTIFICATES_REMEDY
    elif re.search(r"connection broken by|Failed to establish|Max retries|timed out", log):
        cause, remedy = "the package index cannot be reached", NETWORK_REMEDY
    elif "No space left on device" in log:
        cause, remedy = "the disk is full", "free some room and run this again"
    elif "No matching distribution" in log:
        remedy = f"Python {running_python()} may be too new for a package: try another Python"
    else:
        remedy = "mend what the log says and run this again"
    return f"installing failed, {cause}: {remedy}; log: {VENV_LOG}"


class WheelLinks(HTMLParser):
    """The pip wheels on a page of a package index that this Python can run."""

    def __init__(self) -> None:
        super().__init__()
        self.wheels: list[tuple[tuple[int, ...], str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        link = attributes.get("href") or ""
        name = re.search(r"/?pip-(\d+(?:\.\d+)*)-py3-none-any\.whl(?:#|$)", link)
        if tag != "a" or not name or "data-yanked" in attributes:
            return
        needs = re.search(r">=\s*3\.(\d+)", attributes.get("data-requires-python") or "")
        if not needs or sys.version_info >= (3, int(needs[1])):
            self.wheels.append((tuple(map(int, name[1].split("."))), link))


def download_pip(folder: Path) -> Path:
    index = os.environ.get("PIP_INDEX_URL")
    if not index:
        raise Stop(
            f"{sys.executable} has neither pip nor ensurepip: install them (Debian: apt install "
            "python3-venv), or set PIP_INDEX_URL to the package index to bring pip from"
        )
    page = index.rstrip("/") + "/pip/"
    links = WheelLinks()
    links.feed(fetch(page).decode("utf-8", "replace"))
    if not links.wheels:
        raise Stop(f"{page} lists no pip for Python {running_python()}: check PIP_INDEX_URL")
    address, _, digest = urllib.parse.urljoin(page, max(links.wheels)[1]).partition("#sha256=")
    content = fetch(address)
    if digest and hashlib.sha256(content).hexdigest() != digest:
        raise Stop(f"{address} is not what the index promised: run this again, or check the proxy")
    wheel = folder / address.rpartition("/")[2]
    wheel.write_bytes(content)
    return wheel


def fetch(address: str) -> bytes:
    try:
        import ssl
    except ImportError:
        raise Stop(
            f"{sys.executable} was built without ssl: install a Python that has it"
        ) from None
    try:
        certificates = ssl.create_default_context(cafile=os.environ.get("PIP_CERT"))
    except OSError as error:
        raise Stop(
            f"the certificate bundle cannot be read ({error}): {CERTIFICATES_REMEDY}"
        ) from None
    try:
        request = urllib.request.Request(address, headers={"Accept": "text/html"})
        with urllib.request.urlopen(request, timeout=60, context=certificates) as answer:
            content = answer.read()
    except (OSError, ValueError) as error:  # URLError is an OSError
        reason = getattr(error, "reason", error)
        if isinstance(reason, ssl.SSLError):
            raise Stop(f"{address}: {reason}: {CERTIFICATES_REMEDY}") from None
        raise Stop(f"{address} cannot be read ({reason}): {NETWORK_REMEDY}") from None
    assert isinstance(content, bytes)
    return content


# --- a real Godot ------------------------------------------------------------------------------


class GodotSearch(NamedTuple):
    """What a search for Godot brought: the program and its version, or None, and where it was."""

    path: Path | None
    version: str
    looked: list[str]


def godot_places() -> Iterator[Path]:
    """Where a Godot may stand, the most deliberate choice first; most do not exist."""
    yield from sorted((CHECKOUT / ".godot").glob("[Gg]odot*"))
    for name in ["godot", "godot4"]:
        program = shutil.which(name)
        yield Path(program) if program else Path(name)
    home = Path.home()
    if WINDOWS:
        for variable in ["LOCALAPPDATA", "ProgramFiles", "ProgramFiles(x86)"]:
            folder = Path(os.environ.get(variable) or home)
            yield from sorted(folder.glob("Programs/Godot*/Godot*.exe"))
            yield from sorted(folder.glob("Godot*/Godot*.exe"))
        yield home / "scoop/apps/godot/current/godot.exe"
    elif sys.platform == "darwin":
        yield Path("/Applications/Godot.app/Contents/MacOS/Godot")
        yield home / "Applications/Godot.app/Contents/MacOS/Godot"
    else:
        yield CACHE / "godot"
        for folder in [
            home / ".local/bin",
            home / "bin",
            home / "Applications",
            Path("/opt/godot"),
        ]:
            yield from sorted(folder.glob("[Gg]odot*"))
        yield Path("/snap/bin/godot")
        yield Path("/var/lib/flatpak/exports/bin/org.godotengine.Godot")


def godot_version(program: Path) -> str:
    """Return what `--version` prints, such as 4.6.3.stable, or nothing if it does not start."""
    try:
        answer = run([program, "--version"], timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r"^\d+\.\d+\S*$", answer.stdout, re.MULTILINE)
    return found[0] if found and not answer.returncode else ""


def find_godot() -> GodotSearch:
    """Find a Godot that starts and is new enough; GODOT, when set, is the only place looked at."""
    given = os.environ.get("GODOT")
    looked = []
    for place in [Path(given).expanduser()] if given else godot_places():
        program = shutil.which(str(place))
        label = f"GODOT={given}" if given else str(place)
        if not program:
            looked.append(f"{label} (not there)")
            continue
        version = godot_version(Path(program))
        if version and version_pair(version) >= version_pair(GODOT_WANTED):
            return GodotSearch(Path(program).absolute(), version, looked)
        looked.append("{} ({})".format(label, version or "does not start"))
    return GodotSearch(None, "", looked)


def version_pair(version: str) -> tuple[int, int]:
    major, minor = re.findall(r"\d+", version)[:2]
    return int(major), int(minor)


# The mounts live in a mount namespace of this process alone, so nothing is left behind however it
# ends; exec all the way keeps one process id, so signals, output and exit code are the program's.
ENTER = """\
#!/bin/sh
# enter PROGRAM [ARGUMENTS]: runs a program of the system folder {root_name} beside this file.
# Every folder of this machine that is not part of its system is there under its own path.
set -e
root=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)/{root_name}
if [ "$1" != --mounted ]; then
    exec unshare --mount --propagation private -- "$0" --mounted "$@"
fi
shift
show() {{
    if [ -d "$1" ] && [ ! -L "$1" ]; then
        mkdir -p "$root$1"
        mount --rbind "$1" "$root$1"
    fi
}}
for folder in /* /usr/local /usr/src /var/tmp; do
    case $folder in
    /bin | /boot | /etc | /lib* | /lost+found | /run | /sbin | /usr | /var) ;;
    *) show "$folder" ;;
    esac
done
case $PWD/ in
/run/* | /usr/* | /var/*) show "$PWD" ;;
esac
exec chroot "$root" /usr/bin/env --chdir="$PWD" "$@"
"""

GODOT_WRAPPER = """\
#!/bin/sh
# Godot of the system folder beside this file, as if it were installed on this machine.
exec "$(dirname -- "$0")/enter" /usr/bin/godot "$@"
"""


def install_godot() -> None:
    """Put Debian's Godot, with what a screenshot needs, into a system folder of its own."""
    contents = " ".join([GODOT_SUITE, *GODOT_PACKAGES])
    made_of = GODOT_ROOT / ".made-of"
    if not made_of.exists() or made_of.read_text(encoding="utf-8") != contents:
        if not (sys.platform == "linux" and shutil.which("apt-get")):
            raise Stop("fetching a Godot works on Debian only: install one and set GODOT to it")
        if os.geteuid() != 0:
            raise Stop("fetching a Godot needs root: run this as root, or set GODOT to a Godot")
        print(f"dev.py: fetching Godot into {GODOT_ROOT}", file=sys.stderr, flush=True)
        CACHE.mkdir(parents=True, exist_ok=True)
        partial = GODOT_ROOT.with_name(f"{GODOT_ROOT.name}.{os.getpid()}")
        try:
            make_godot_root(partial)
            (partial / made_of.name).write_text(contents, encoding="utf-8")
            shutil.rmtree(GODOT_ROOT, ignore_errors=True)
            partial.rename(GODOT_ROOT)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    write_program(CACHE / "enter", ENTER.format(root_name=GODOT_ROOT.name))
    write_program(CACHE / "godot", GODOT_WRAPPER)


def make_godot_root(folder: Path) -> None:
    if not shutil.which("mmdebstrap"):
        apt_get("update")
        apt_get("install", "--yes", "--no-install-recommends", "mmdebstrap")
    targets = run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(ORIGIN)"]).stdout
    mirrors = [line.split()[0] for line in targets.splitlines() if line.split()[1:] == ["Debian"]]
    if not mirrors:
        raise Stop("apt knows no Debian mirror: run `apt-get update`, or set GODOT to a Godot")
    made = run(
        [
            "mmdebstrap",
            "--variant=apt",
            '--aptopt=Acquire::Check-Valid-Until "false"',
            '--aptopt=Acquire::Retries "3"',
            "--include=" + ",".join(GODOT_PACKAGES),
            GODOT_SUITE,
            folder,
            mirrors[0],
        ]
    )
    if made.returncode:
        raise Stop(
            f"mmdebstrap could not fetch Godot ({last_line(made.stdout)}): check the network and "
            "free disk space (1 GB), or set GODOT to a Godot of yours"
        )


def apt_get(*arguments: str) -> None:
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    done = run(["apt-get", "-o", "DPkg::Lock::Timeout=300", *arguments], env=environment)
    if done.returncode:
        raise Stop(
            f"apt-get {arguments[0]} failed ({last_line(done.stdout)}): mend that, "
            "or set GODOT to a Godot of yours"
        )


def write_program(path: Path, text: str) -> None:
    # replaced in one step: another checkout may be starting it right now
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    partial.chmod(0o755)
    partial.replace(path)


# --- the commands ------------------------------------------------------------------------------


def python(*arguments: str) -> int:
    """Run the environment's Python in the checkout, on the terminal; its exit code."""
    return subprocess.call([str(VENV_PYTHON), *arguments], cwd=CHECKOUT)


def demo(arguments: list[str]) -> int:
    ready_environment("pictures")
    return python("-m", "navserver", "demo", *(arguments or ["--out", str(OUT)]))


def test(arguments: list[str]) -> int:
    ready_environment("test")
    return python("-m", "pytest", *arguments)


def lint(arguments: list[str]) -> int:
    if arguments:
        raise Stop(f"lint takes no arguments, not {arguments[0]}: run `python3 dev.py lint`")
    ready_environment("lint", "test")
    modules = sorted(str(path) for path in (CHECKOUT / "navserver").rglob("*.py"))
    addon = CHECKOUT / "godot_addon"
    scripts = sorted(str(path) for path in addon.rglob("*.gd"))
    # Those beside the addon are held to gdlint's own limits, not to the addon's.
    others = sorted(
        str(path) for name in ("benchmarks", "tests") for path in (CHECKOUT / name).rglob("*.gd")
    )
    failed = []
    for folder, command in [
        (CHECKOUT, ["ruff", "check"]),
        (CHECKOUT, ["ruff", "format", "--check"]),
        (CHECKOUT, ["mypy"]),
        (CHECKOUT, ["lint-imports"]),
        (CHECKOUT, ["numpydoc", "lint", *modules]),
        (addon, ["gdlint", *scripts]),
        (CHECKOUT, ["gdlint", *others]),
        (CHECKOUT, ["gdformat", "--check", *scripts, *others]),
    ]:
        name = " ".join(part for part in command[:2] if not Path(part).is_absolute())
        print(f"dev.py: {name}", flush=True)
        program = shutil.which(command[0], path=str(VENV_BIN)) or command[0]
        if subprocess.call([program, *command[1:]], cwd=folder):
            failed.append(name)
    print("dev.py: lint " + (f"failed: {', '.join(failed)}" if failed else "passed"), flush=True)
    return 1 if failed else 0


def bench(arguments: list[str]) -> int:
    names = sorted(path.stem[len("bench_") :] for path in CHECKOUT.glob("benchmarks/bench_*.py"))
    if not arguments or arguments[0] not in names:
        given = f"no benchmark is called {arguments[0]}" if arguments else "which benchmark?"
        raise Stop(f"{given}: give one of {', '.join(names) or 'none yet'}")
    ready_environment("bench")
    return python("-m", "benchmarks.bench_" + arguments[0], *arguments[1:])


def godot(arguments: list[str]) -> int:
    if arguments not in ([], ["--install"]):
        raise Stop(f"godot knows --install alone, not {' '.join(arguments)}: leave it out")
    search = find_godot()
    # the fetched one is made anew where an older checkout fetched it with other contents
    if (arguments or os.environ.get("CI")) and search.path in {None, CACHE / "godot"}:
        install_godot()
        search = find_godot()
    if search.path is None:
        for place in search.looked:
            print(f"looked at {place}")
        raise Stop(
            f"no Godot {GODOT_WANTED} or newer: set GODOT to one, or on Debian as root "
            "run `python3 dev.py godot --install`"
        )
    print(f"{search.path} {search.version}")
    return 0


def pictures(arguments: list[str]) -> int:
    scripts = {
        "movers": ["docs/pictures.py"],
        "painting": ["docs/painting.py"],
        "demos": ["-m", "tests.godot_addon.demo_tour"],
        "debugger": ["-m", "tests.godot_addon.debugger_tour"],
        "preview": ["-m", "tests.godot_addon.preview_tour"],
    }
    if len(arguments) != 1 or arguments[0] not in scripts:
        given = f"no pictures are called {' '.join(arguments)}" if arguments else "which pictures?"
        raise Stop(f"{given}: give one of {', '.join(scripts)}")
    ready_environment("pictures", "test")
    return python(*scripts[arguments[0]])


COMMANDS = {
    "demo": (demo, "paths, and bots as clients of a sidecar, on a built-in map, drawn into out/"),
    "test": (test, "run the tests; arguments go to pytest (--require-godot, --soak, --every N)"),
    "lint": (lint, "ruff, mypy, import contracts, docstrings, and the style of the addon"),
    "bench": (bench, "run a benchmark: bench NAME [--quick] [--json]"),
    "pictures": (pictures, "draw the documentation's again: pictures NAME; games need Xvfb"),
    "godot": (godot, "find a Godot and print path and version; --install fetches one on Debian"),
}


def usage() -> str:
    lines = [f"  {name:8} {purpose}" for name, (_, purpose) in COMMANDS.items()]
    return "\n".join(["usage: python3 dev.py COMMAND [ARGUMENTS]", "", *lines])


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in {"-h", "--help"}:
        print(usage())
        return 0 if arguments else 2
    command = COMMANDS.get(arguments[0])
    try:
        if command is None:
            raise Stop(f"no command {arguments[0]}: give one of {', '.join(COMMANDS)}")
        ensure_suitable_python(arguments)
        return command[0](arguments[1:])
    except Stop as stop:
        print(f"dev.py: {stop}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
