"""The four rings hold: imports point inwards only, and the independent reader shares nothing with what it checks."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"
WORDS, RULES, HANDS, SHELLS = range(4)

#: Rules among folders that also hold hands: pure functions, no outside thing.
RULE_FILES = {
    "_host/rules", "_host/nccl_log", "_probe/verdict", "_host/container", "_host/container_cache",
    "_host/docker_facts", "_mode/plan", "_mode/ownership", "_state/final", "_state/difference", "_packet/problem",
    "_engine/spec", "_engine/expects", "_engine/container_spec", "_engine/ending", "_engine/diagnosis", "_engine/vllm_log",
    "_engine/sglang_log", "_engine/facts", "_engine/comparison", "_engine/container_check", "_images/image", "_images/patches",
    "_api/replies", "_api/responses", "_api/sse", "_api/requests", "_evidence/record", "_cache/gguf", "_cache/gguf_types", "_cache/gguf_checkpoint",
    "_cache/safetensors", "_cache/index", "_cache/problem", "_cache/wanted",
    "_cache/quantization", "_cache/architecture", "_cache/checkpoint", "_host/fit", "_host/topology", "_host/engine_variables", "_host/findings",
    "_gates/coherence", "_gates/answers",
    "_gates/calibration", "_gates/channels", "_gates/delivery", "_gates/finding", "_gates/metrics", "_gates/prompts", "_gates/verdicts",
    "_gates/tasks", "_gates/unified_diff", "_gates/energy",
}  # fmt: skip
#: Files that rules may read although their folder is a hand's: they only define a shape.
SHAPES = {"_api/client", "_probe/ranks"}
#: The independent reader's one exception from the order of the rings: it may import the words and itself, and nothing else.
READER = "_state/"


def ring(name: str) -> int:
    """The ring of a module_utils file, by its path without ending."""
    if name.startswith("_words/"):
        return WORDS
    if name in RULE_FILES:
        return RULES
    if name.endswith("_main"):
        return SHELLS
    return HANDS


def utils() -> dict[str, Path]:
    root = PLUGINS / "module_utils"
    return {str(path.relative_to(root).with_suffix("")): path for path in sorted(root.rglob("*.py"))}


def imported(name: str, path: Path) -> set[str]:
    """module_utils files that a module_utils file imports (relative imports only; others are checked apart)."""
    here = name.split("/")[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = here[: len(here) - (node.level - 1)]
            target = "/".join([*base, *(node.module or "").split(".")]).strip("/")
            found |= {target} if target in utils() else {f"{target}/{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("name", sorted(utils()))
def test_imports_point_inwards(name: str) -> None:
    for other in imported(name, utils()[name]):
        assert other in utils(), f"{name} imports {other}, which is no file of module_utils"
        if other in SHAPES and ring(name) == RULES:
            continue
        assert ring(other) <= ring(name), f"{name} imports {other}, which is further out"


def test_every_rule_file_exists() -> None:
    assert set(utils()) >= RULE_FILES


def test_the_reader_imports_the_words_only() -> None:
    files = {name: path for name, path in utils().items() if name.startswith(READER)}
    assert files
    for name, path in files.items():
        assert all(other.startswith(("_words/", READER)) for other in imported(name, path)), name


def test_nobody_that_changes_the_host_imports_the_reader() -> None:
    for name, path in utils().items():
        if name.split("/")[0] in ("_mode", "_engine", "_host"):
            assert not any(other.startswith(READER) for other in imported(name, path)), name


@pytest.mark.parametrize("name", sorted(utils()))
def test_module_utils_know_nothing_of_ansible_and_third_parties(name: str) -> None:
    allowed_inside_functions = {"xllamacpp"}
    tree = ast.parse(utils()[name].read_text(encoding="utf-8"))
    tops = {alias.name.split(".")[0] for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    tops |= {
        str(node.module).partition(".")[0] for node in tree.body if isinstance(node, ast.ImportFrom) and not node.level
    }
    assert tops <= set(sys.stdlib_module_names) - allowed_inside_functions


def closure(names: set[str]) -> set[str]:
    """Everything that Ansible would pack with a module."""
    todo, seen = list(names), set()
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += imported(name, utils()[name])
    return seen


@pytest.mark.parametrize("path", sorted((PLUGINS / "modules").glob("*.py")), ids=lambda path: path.stem)
def test_a_module_s_payload_is_small(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {
        str(node.module).removeprefix("module_utils.").replace(".", "/")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level
    }
    assert sum(utils()[name].stat().st_size for name in closure(names)) <= 150_000


def test_rules_touch_no_outside_thing() -> None:
    outside = {"subprocess", "socket", "http", "urllib.request", "shutil", "fcntl", "os"}
    for name in sorted(RULE_FILES):
        tree = ast.parse(utils()[name].read_text(encoding="utf-8"))
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level}
        assert not names & outside, f"{name} imports {names & outside}"


@pytest.mark.parametrize("path", sorted((PLUGINS / "modules").glob("*.py")), ids=lambda path: path.stem)
def test_only_main_ends_a_module_and_it_is_short(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            calls = {
                call.func.attr
                for call in ast.walk(node)
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
            }
            if node.name != "main":
                assert not calls & {"fail_json", "exit_json"}, f"{path.stem}.{node.name}"
            else:
                body = [line for line in ast.unparse(node).splitlines() if "AnsibleModule(" not in line]
                assert len(body) <= 25, f"{path.stem}.main has {len(body)} lines"
