"""Secrets and traces of a host and its owner, planted in every kind of artifact of a packet. None is real."""

from __future__ import annotations

import json
from pathlib import Path

#: What a log, a model's answer or a setting may hold. ``{n}`` makes each one its own, so that one that is left is found by its text.
SECRETS = {
    "hf token": "hf_{n}abcdefghijklmnopqrstuvwxyzABCDEFGH",
    "openai key": "sk-proj-{n}abcdefghijklmnopqrstuvwxyz0123",
    "github token": "ghp_{n}abcdefghijklmnopqrstuvwxyz0123456789",
    "aws key": "AKIA{n}ABCDEFGH",
    "ngc key": "nvapi-{n}abcdefghijklmnopqrstuvwxyz_-0123",
    "slack token": "xoxb-{n}-abcdefghijkl",
    "web token": "eyJhbGciOiJI{n}.eyJzdWIiOiIx{n}.c2lnbmF0dXJl{n}",
    "bearer": "Authorization: Bearer {n}abcdefABCDEF0123456789",
    "password in address": "https://bob:{n}hunter22@registry.example/v2",
    "key on a command line": "vllm serve --api-key {n}abcdef-key --port 1",
    "key in a list": '["--api-key", "{n}listed-key"]',
    "secret variable": "MY_API_KEY={n}variable-value",
    "quoted secret": '{"HF_TOKEN": "{n}quoted-value"}',
    "private key": "-----BEGIN OPENSSH PRIVATE KEY-----\n{n}b3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----",
}
TRACES = {
    "gpu": "GPU-{n}-1111-2222-3333-444444444444",
    "mig": "MIG-{n}-1111-2222-3333-555555555555",
    "address 10": "10.{o}.7.9",
    "address 192": "http://192.168.{o}.77:8000/v1",
    "address 172": "tcp://172.20.{o}.5:2375",
    "address cgnat": "100.101.{o}.3",
    "ipv6": "fd00:{o}::9",
    "mac": "02:42:ac:11:00:{h}",
    "mail": "bob{n}@example.org",
    "home": "/home/bob{n}/models",
    "mac home": "/Users/bob{n}/x",
    "wsl home": "/mnt/c/Users/bob{n}/AppData",
    "windows home": "C:\\Users\\bob{n}\\AppData",
    "root home": "/root/.cache/x",
    "serial": "Serial Number: 13245{n}",
    "state folder": "/srv/tandem-state/campaigns/x",
    "cache": "/srv/weights/hub/models--a--b",
    "host name": "bobs-rig.lan",
    "user name": "user bobsmith logged in",
}
#: What of a planted text has to be gone; the rest may stay (an address's port, the word password).
CORE = {
    "bearer": "{n}abcdefABCDEF0123456789", "password in address": "{n}hunter22", "key on a command line": "{n}abcdef-key", "key in a list": "{n}listed-key",
    "secret variable": "{n}variable-value", "quoted secret": "{n}quoted-value", "private key": "{n}b3BlbnNzaC1rZXk", "address 192": "192.168.{o}.77",
    "address 172": "172.20.{o}.5", "home": "bob{n}", "mac home": "bob{n}", "wsl home": "bob{n}", "windows home": "bob{n}", "root home": "/root/",
    "serial": "13245{n}", "state folder": "/srv/tandem-state", "cache": "/srv/weights", "user name": "bobsmith",
}  # fmt: skip
HOST = {
    "gpu_roles": {"compute_a": {"uuid": "GPU-aaaaaaaa-0000-4000-8000-00000000000a", "kind": "gpu"}}, "services": {},
    "state_dir": "/srv/tandem-state", "cache": {"path": "/srv/weights/hub"},
}  # fmt: skip
FACTS = {
    "user": "bobsmith",
    "hostname": "bobs-rig.lan",
    "gpus": [{"uuid": "GPU-aaaaaaaa-0000-4000-8000-00000000000a", "serial": "1324500000001"}],
}


def plant(packet: Path) -> list[tuple[str, str, str]]:
    """(kind, file, what has to be gone) of everything planted: each kind in each kind of artifact."""
    _set(packet / "reservation.json", "host", HOST)
    _set(packet / "host.json", "facts", FACTS)
    kinds: dict[str, Path] = {}
    for file in sorted(packet.rglob("*")):
        if file.is_file() and file.name != "manifest.json":
            kinds.setdefault(file.name.rstrip("0123456789"), file)
    planted: list[tuple[str, str, str]] = []
    for name, file in kinds.items():
        for number, (kind, text) in enumerate({**SECRETS, **TRACES}.items()):
            marks = {"n": f"{len(planted) + 10_000_000}", "o": str(number % 200 + 1), "h": f"{number:02x}"}
            _append(file, f"planted {number}", _filled(text, marks))
            planted.append((kind, name, _filled(CORE.get(kind, text), marks)))
    return planted


def _filled(text: str, marks: dict[str, str]) -> str:
    for name, value in marks.items():
        text = text.replace("{" + name + "}", value)
    return text


def _set(file: Path, key: str, value: object) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), key: value}))


def _append(file: Path, key: str, text: str) -> None:
    """As a value, inside a list, and as a key; in JSON lines and logs as one line more."""
    value = {"says": text, "list": ["words", f"before {text} behind"], f"{text}": 1.5}
    if file.suffix == ".json":
        _set(file, key, value)
        return
    with file.open("a") as stream:
        stream.write(
            json.dumps({"schema": "tandem.row/v1", key: value}) + "\n" if file.suffix == ".jsonl" else f"{key} {text}\n"
        )
