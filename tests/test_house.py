"""The layout and the rules that no single module can keep alone."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CHECKOUT = Path(__file__).resolve().parent.parent
PACKAGE = CHECKOUT / "navserver"
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))

# Said in words by what they are for instead.
DRAWERS = {"common", "helper", "helpers", "manager", "misc", "util", "utils"}


def tree(module: Path) -> ast.Module:
    return ast.parse((PACKAGE / module).read_text(encoding="utf-8"))


class WithoutTyping(ast.NodeTransformer):
    """Drops what only a type checker imports."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        return None if ast.unparse(node.test) == "TYPE_CHECKING" else self.generic_visit(node)


def imports(module: Path) -> set[str]:
    """Top-level names of what a module imports when it runs, inside functions too."""
    found = set()
    for node in ast.walk(WithoutTyping().visit(tree(module))):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno} imports relatively"
            found.add((node.module or "").partition(".")[0])
    return found


def project() -> dict[str, Any]:
    return tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))


def tracked_files() -> list[Path]:
    git = shutil.which("git")
    if not git or not (CHECKOUT / ".git").exists():
        pytest.skip("no git checkout: which files belong to the project is not known")
    listed = subprocess.run(
        # a checkout of another user is read all the same
        [git, "-c", f"safe.directory={CHECKOUT}", "ls-files", "-z"],
        cwd=CHECKOUT,
        capture_output=True,
        check=True,
        text=True,
    )
    paths = [CHECKOUT / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file()]


@pytest.mark.parametrize(
    "module", [m for m in MODULES if not m.name.startswith("__")], ids=lambda m: m.as_posix()
)
def test_every_module_has_its_test_file(module: Path) -> None:
    folder = CHECKOUT / "tests" / module.parent
    mirror = folder / f"test_{module.stem.lstrip('_')}.py"
    # small modules of one folder may be tested together
    together = folder.with_name(f"test_{folder.name}.py")
    assert mirror.is_file() or together.is_file(), f"missing: {mirror.relative_to(CHECKOUT)}"


def test_numba_is_imported_by_jit_alone() -> None:
    importers = [module.as_posix() for module in MODULES if imports(module) & {"numba", "llvmlite"}]
    assert importers == ["_jit.py"]


def test_sockets_are_imported_by_server_and_clients_alone() -> None:
    importers = {module.as_posix() for module in MODULES if imports(module) & {"socket", "zmq"}}
    assert importers <= {"server.py", "link.py", "fleet.py"}


def test_dependencies_are_what_is_imported() -> None:
    declared = project()["project"]
    needed = [*declared["dependencies"], *declared["optional-dependencies"]["pictures"]]
    distributions = {requirement.partition(">")[0].strip() for requirement in needed}
    foreign = set().union(*map(imports, MODULES)) - sys.stdlib_module_names - {"navserver"}
    owners = metadata.packages_distributions()
    imported = {owner.lower() for package in foreign for owner in owners.get(package, [package])}
    assert imported == distributions, "a dependency comes with the module that imports it"


def test_no_drawers_for_odds_and_ends() -> None:
    parts = {part for module in MODULES for part in module.with_suffix("").parts}
    assert not parts & DRAWERS


def test_nothing_is_left_for_later() -> None:
    unfinished = [
        f"{module.as_posix()}:{node.lineno}"
        for module in MODULES
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Name) and node.id == "NotImplementedError"
    ]
    assert not unfinished


def test_no_file_names_a_folder_of_this_machine() -> None:
    places = {f"{place}/" for place in [CHECKOUT, Path.home()] if len(place.parts) > 1}
    named = [
        str(path.relative_to(CHECKOUT))
        for path in tracked_files()
        if any(place.encode() in path.read_bytes() for place in places)
    ]
    assert not named


def test_version_is_named_in_the_changelog() -> None:
    import navserver

    changelog = (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {navserver.__version__}" in changelog


@pytest.fixture
def contracts(tmp_path: Path) -> Path:
    """A copy of the package and its contracts, to break."""
    pytest.importorskip("importlinter", reason="contracts are checked by `python3 dev.py lint`")
    shutil.copytree(PACKAGE, tmp_path / "navserver", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CHECKOUT / "pyproject.toml", tmp_path)
    return tmp_path


def broken_contracts(folder: Path) -> set[str]:
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", command, "--no-cache"],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": "", "COLUMNS": "200", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    lines = done.stdout.splitlines()
    assert any("KEPT" in line for line in lines), done
    return {line.partition(" BROKEN")[0] for line in lines if " BROKEN" in line}


FLOORS = "Every floor knows only the floors below it"
ALGORITHMS = "Search algorithms share nodes and grid, never each other"
NUMBA = "Numba only in _jit"


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("search/grid.py", "import navserver.maps", FLOORS),
        ("status.py", "import navserver._jit", FLOORS),
        ("utils.py", "", FLOORS),
        ("search/line_of_sight.py", "import navserver.search.astar", ALGORITHMS),
        ("search/nodes.py", "import navserver.search.astar", ALGORITHMS),
        ("search/grid.py", "def late():\n    import numba", NUMBA),
    ],
)
def test_contracts_notice_what_they_forbid(
    contracts: Path, module: str, line: str, contract: str
) -> None:
    with (contracts / "navserver" / module).open("a", encoding="utf-8") as file:
        file.write(f"\n\n{line}\n")
    assert contract in broken_contracts(contracts)


def test_every_script_of_the_addon_has_its_uid_and_none_is_left_over() -> None:
    scripts = (CHECKOUT / "godot_addon").rglob("*.gd")
    uids = (CHECKOUT / "godot_addon").rglob("*.gd.uid")
    assert {str(script) + ".uid" for script in scripts} == {str(uid) for uid in uids}
