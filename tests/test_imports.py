"""Imports run one way, in no circle: each part can be read, tested and replaced without the ones above it."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

COMMON = {
    "energycomm.cells",
    "energycomm.database_address",
    "energycomm.errors",
    "energycomm.kernel",
    "energycomm.logs",
    "energycomm.masking",
    "energycomm.private_files",
}
LOWER = COMMON | {
    "energycomm.market",
    "energycomm.engine",
    "energycomm.eis",
    "energycomm.transport",
}

ALLOWED: dict[str, set[str]] = {
    "energycomm.kernel": set(),
    "energycomm.cells": set(),
    "energycomm.database_address": set(),
    "energycomm.links": {"energycomm.texts"},
    "energycomm.templates": set(),
    "energycomm.texts": set(),
    "energycomm.masking": set(),
    "energycomm.private_files": {"energycomm.logs"},
    "energycomm.errors": {"energycomm.masking"},
    "energycomm.choices": {"energycomm.errors"},
    "energycomm.fielderrors": set(),
    "energycomm.logs": {"energycomm.cells", "energycomm.masking"},
    "energycomm.processes": set(),
    "rules": {"energycomm.kernel"},
    "energycomm.market": COMMON,
    "adapters": COMMON | {"energycomm.market"},
    "energycomm.engine": COMMON | {"energycomm.templates", "energycomm.texts"},
    "energycomm.eis": COMMON,
    "energycomm.transport": COMMON,
    "energycomm.web_settings": {"energycomm.transport"},
    "energycomm.tracker_settings": {"energycomm.transport"},
    "energycomm.alarm_settings": {"energycomm.transport"},
    "energycomm.supplier_settings": {"energycomm.transport"},
    "energycomm.installation": {"energycomm.config", "energycomm.errors", "energycomm.transport"},
    "energycomm.config": COMMON
    | {
        "energycomm.alarm_settings",
        "energycomm.choices",
        "energycomm.fielderrors",
        "energycomm.supplier_settings",
        "energycomm.transport",
        "energycomm.tracker_settings",
        "energycomm.web_settings",
    },
    "energycomm.simulation": COMMON | {"energycomm.market"},
    "energycomm.backoffice": COMMON
    | {"energycomm.alarm_settings", "energycomm.config", "energycomm.eis", "energycomm.transport"},
    "energycomm.billing": COMMON | {"energycomm.eis", "energycomm.market"},
    "energycomm.export": COMMON | {"energycomm.eis", "energycomm.invoicing"},
    "energycomm.portfolio": COMMON | {"energycomm.market", "energycomm.eis"},
    "energycomm.invoicing": COMMON | {"energycomm.eis", "energycomm.market", "energycomm.texts"},
    "energycomm.backup": COMMON | {"energycomm.archive", "energycomm.eis"},
    "energycomm.archive": COMMON | {"energycomm.eis", "energycomm.pipeline"},
    "energycomm.erasure": LOWER | {"energycomm.archive", "energycomm.config", "energycomm.pipeline"},
    "energycomm.bulk": LOWER | {"energycomm.export", "energycomm.pipeline", "energycomm.processes"},
    "energycomm.pipeline": LOWER
    | {
        "energycomm.choices",
        "energycomm.config",
        "energycomm.fielderrors",
        "energycomm.logs",
        "energycomm.portfolio",
        "energycomm.processes",
    },
}
"""Part -> the parts that it may import besides itself."""

SHARED = {"energycomm.market", "adapters.common"}
"""What every adapter may import of the others' folder: the contract, and what several markets share."""

SCRIPTS = {f"energycomm.correction.{name}" for name in ("cases", "deduced", "lookup", "neighbours", "script")}
"""Modules of the core that correction scripts are written with: a market's own scripts may import them."""

GATEWAY = {"energycomm.transport.forms", "energycomm.simulation.answering"}
"""Modules of the core that the conformance suite needs besides the contract."""

OURS = ("energycomm", "adapters", "rules", "assistant")
"""The packages that are held to the order."""

TOP = {
    "assistant",
    "energycomm.client",
    "energycomm.cli",
    "energycomm.commands",
    "energycomm.console",
    "energycomm.correction",
    "energycomm.daemon",
    "energycomm.documentation",
    "energycomm.finding",
    "energycomm.webservice",
}


def part_of(module: str) -> str:
    """The part a module belongs to: energycomm.engine.catalogue -> energycomm.engine, rules.predicates -> rules."""
    names = module.split(".")
    if names[0] == "adapters" and names[2:3] in (["simulator"], ["scripts"]):
        return ".".join(names[:3])
    return ".".join(names[:2]) if names[0] in ("energycomm", "adapters") else names[0]


def sources() -> list[Path]:
    return sorted(path for folder in OURS for path in (ROOT / folder).rglob("*.py"))


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports(path: Path) -> list[tuple[int, str]]:
    """Line and name of everything of ours that a file imports, inside functions and for type checking too."""
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join(module_name(path).split(".")[: -node.level]) + "." + base
            # `from energycomm import logs` imports the part energycomm.logs.
            found += [(node.lineno, f"{base}.{alias.name}") for alias in node.names]
    return [(line, name) for line, name in found if name.split(".")[0] in (*OURS, "tests", "benchmarks")]


def violations(path: Path) -> list[str]:
    here = part_of(module_name(path))
    wrong = []
    for line, name in imports(path):
        there = part_of(name)
        if there == here or (here == "energycomm"):
            continue
        if here in TOP:
            fine = there.split(".")[0] == "energycomm"
        elif here.endswith(".simulator"):
            # It writes a market's envelopes from simulated lives, in the words of that market's adapter.
            fine = there in COMMON | {"energycomm.simulation", here.removesuffix(".simulator")} | SHARED
        elif here.endswith(".scripts"):
            fine = there in COMMON | {here.removesuffix(".scripts")} | SHARED or name.rpartition(".")[0] in SCRIPTS
        elif here == "adapters.common" and path.name == "commands.py":
            # Commands of the kit print as all others do.
            fine = there in ALLOWED["adapters"] or name.rpartition(".")[0] == "energycomm.commands.output"
        elif here == "adapters.common" and "conformance" in path.parts:
            # The suite looks at fixtures as the gateway does, and asks the simulated market.
            fine = there in ALLOWED["adapters"] or name.rpartition(".")[0] in GATEWAY
        elif here.startswith("adapters."):
            fine = there in ALLOWED["adapters"] | SHARED
        else:
            fine = there in ALLOWED.get(here, set())
        if not fine:
            wrong.append(f"{path.relative_to(ROOT)}:{line}: {here} imports {name}")
    return wrong


def circle() -> list[str]:
    """Modules of which each imports the next and the last one the first; none where there is no circle."""
    modules = {module_name(path): path for path in sources()}
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        # `from energycomm.eis import tables` imports a module, `from energycomm.eis.store import Store` a name of one.
        named = {name if name in modules else name.rpartition(".")[0] for _, name in imports(path)}
        graph[module] = (named & modules.keys()) - {module}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as found:
        return list(found.args[1])
    return []


def test_no_modules_import_one_another_in_a_circle() -> None:
    """Inside a part too, and inside functions: what is imported later only hides a circle."""
    assert circle() == []


def test_imports_run_one_way() -> None:
    """Commands and daemon import the pipeline, that imports engine, store and transport, these the kernel. Nothing of
    the core imports an adapter or the assistant: they are found by their entry points."""
    assert [line for path in sources() for line in violations(path)] == []


def test_every_part_has_its_place() -> None:
    """A new part of the gateway is placed in the order before anything imports it."""
    parts = {part_of(module_name(path)) for path in sources()} - {"energycomm"}
    unplaced = {part for part in parts if part not in ALLOWED and part not in TOP and not part.startswith("adapters")}
    assert unplaced == set()


@pytest.mark.parametrize(
    ("file", "line", "fine"),
    [
        ("energycomm/kernel/x.py", "from energycomm.engine import port", False),
        ("energycomm/kernel/x.py", "from energycomm import errors", False),
        ("energycomm/pipeline/x.py", "def f():\n    import energycomm.commands.process", False),
        ("adapters/fr_enedis/x.py", "from adapters.nl_edsn import y", False),
        ("adapters/fr_enedis/x.py", "from energycomm.market.contract import Sniff", True),
        ("adapters/fr_enedis/x.py", "from adapters.common.reading import read", True),
        ("adapters/common/x.py", "from adapters.fr_enedis import codes", False),
        ("energycomm/commands/x.py", "import assistant.chat", False),
        ("energycomm/commands/x.py", "from adapters.fr_enedis import adapter", False),
        ("energycomm/pipeline/x.py", "def f():\n    from adapters.common import codes", False),
        ("energycomm/market/x.py", "from energycomm.pipeline import inbound", False),
        ("adapters/fr_enedis/scripts/x.py", "from energycomm.correction.script import Script", True),
        ("adapters/fr_enedis/scripts/x.py", "from energycomm.correction.campaign import run", False),
        ("adapters/fr_enedis/x.py", "from energycomm.correction.script import Script", False),
        ("assistant/x.py", "from energycomm.eis.store import Store", True),
        ("assistant/x.py", "from adapters.fr_enedis import codes", False),
        ("energycomm/commands/x.py", "from energycomm.pipeline import inbound", True),
        ("adapters/fr_enedis/simulator/x.py", "from energycomm.simulation.lives import Life", True),
        ("adapters/fr_enedis/x.py", "from adapters.fr_enedis.simulator import drafts", False),
        ("adapters/fr_enedis/x.py", "from energycomm.simulation.lives import Life", False),
        ("rules/predicates.py", "from energycomm.eis import tables", False),
    ],
)
def test_the_check_finds_an_import_that_runs_the_other_way(
    file: str, line: str, fine: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The check itself is checked with imports that must and must not pass."""
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(line, "utf-8")
    assert (violations(path) == []) is fine


@pytest.mark.parametrize(
    ("one", "other", "round"),
    [
        ("from energycomm.engine.b import x", "from energycomm.engine.a import y", True),
        ("from energycomm.engine import b", "def f():\n    from energycomm.engine.a import y", True),
        ("import energycomm.engine.b", "if TYPE_CHECKING:\n    import energycomm.engine.a", True),
        ("from energycomm.engine.b import x", "from energycomm.kernel import y", False),
    ],
)
def test_the_check_finds_a_circle(
    one: str, other: str, round: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A later import, and one for types alone, close a circle like any other."""
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    folder = tmp_path / "energycomm" / "engine"
    folder.mkdir(parents=True)
    (folder / "a.py").write_text(one, "utf-8")
    (folder / "b.py").write_text(other, "utf-8")
    assert (set(circle()) == {"energycomm.engine.a", "energycomm.engine.b"}) is round
