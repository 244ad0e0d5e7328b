# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results as JUnit XML: a suite for each lane, profile and gate, its checks as cases, for whatever shows tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

from ..module_utils._words.text import plain

Document = Mapping[str, Any]
#: Verdict -> what a test that came to it is called. A failed advisory check fails nothing and is shown as left out, with its reason.
ELEMENTS = {"failed": "failure", "inconclusive": "error", "not_run": "skipped"}


def junit_xml(results: Document) -> str:
    """Cases without an element inside have passed."""
    name = f"{results['campaign']} on {results['host']}"
    root = ElementTree.Element("testsuites", name=plain(name))
    for suite, cases in _suites(results):
        element = ElementTree.SubElement(
            root, "testsuite", name=plain(suite), timestamp=results["started_at"].rstrip("Z")
        )
        for case in cases:
            _case(element, suite, case)
        _count(element)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suites(results: Document) -> Iterator[tuple[str, list[Document]]]:
    """(name, cases) with each case as a check is."""
    yield "host", [{"name": "restore", "level": "required", **results["restore"]}]
    for lane in results["lanes"]:
        for gate in lane["gates"]:
            level = "required" if gate["required"] else "advisory"
            checks = [
                {**check, "level": check["level"] if gate["required"] else "advisory"} for check in gate["checks"]
            ]
            yield (
                f"{lane['recipe']}.{gate['profile']}.{gate['protocol']}",
                [{**gate, "name": "gate", "level": level}, *checks],
            )
        yield (
            lane["recipe"],
            [
                {
                    "name": "lane",
                    "level": "required",
                    "verdict": _of_lane(lane),
                    "reason": f"{lane['outcome']}: {lane['reason']}",
                }
            ],
        )


def _of_lane(lane: Document) -> str:
    """A control passes as it is caught; what only the host is to blame for is an error and no failure."""
    if lane["control"] and lane["outcome"] != "not_run":
        return "passed" if lane["control"]["met"] else "failed"
    words = {
        "rejected": "failed",
        "inconclusive": "inconclusive",
        "infrastructure": "inconclusive",
        "not_run": "not_run",
    }
    return words.get(lane["outcome"], "passed")


def _case(suite: ElementTree.Element, name: str, case: Document) -> None:
    element = ElementTree.SubElement(suite, "testcase", classname=plain(name), name=plain(case["name"]))
    kind = ELEMENTS.get(case["verdict"])
    advisory = case["level"] == "advisory"
    if kind:
        told = plain(f"advisory, {case['verdict']}: {case['reason']}" if advisory else case["reason"], 600)
        ElementTree.SubElement(element, "skipped" if advisory else kind, message=told)


def _count(suite: ElementTree.Element) -> None:
    suite.set("tests", str(len(suite)))
    for attribute, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{kind}"))))
