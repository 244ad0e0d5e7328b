"""What a machine with two GPUs has on its PATH: an nvidia-smi that answers what a test wrote, and the hook that Docker looks for."""

from __future__ import annotations

from pathlib import Path

UUIDS = ("GPU-aaaaaaaa-0000-4000-8000-00000000000a", "GPU-bbbbbbbb-0000-4000-8000-00000000000b")
SMI = """#!/bin/sh
case "$1" in
  --query-gpu=index,uuid,memory.used) awk -F', ' '{{print $1", "$3", "$7}}' {listing} ;;
  *) cat {listing} ;;
esac
"""


class Cards:
    """Two cards whose used memory a test sets. ``folder`` goes first on PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.listing = folder / "listing.csv"
        folder.mkdir(parents=True, exist_ok=True)
        self._program("nvidia-smi", SMI.format(listing=self.listing))
        self.use(400, 400)

    def hook(self) -> None:
        """With it on the engine's PATH a real engine takes GPU requests without a GPU."""
        self._program("nvidia-container-runtime-hook", "#!/bin/sh\nexit 0\n")

    def use(self, *used_mib: int) -> None:
        """Used memory of each card in MiB."""
        rows = [
            f"{number}, NVIDIA RTX PRO 6000, {UUIDS[number]}, 00000000:0{number + 1}:00.0, 591.86, 97887, {used}, 600.00, 12.0"
            for number, used in enumerate(used_mib)
        ]
        self.listing.write_text("\n".join(rows) + "\n")

    def _program(self, name: str, text: str) -> None:
        file = self.folder / name
        file.write_text(text)
        file.chmod(0o755)
