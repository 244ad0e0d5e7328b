"""The contract follows from the facts, and is applied nowhere else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ansible_collections.tandem.campaign.plugins.module_utils._host.rules import TABLE, Need, contract_for
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import DockerFacts, Gpu, HostFacts
from ansible_collections.tandem.campaign.plugins.module_utils._words.recipe import Recipe
from ansible_collections.tandem.campaign.plugins.plugin_utils.recipes import COLLECTION_RECIPES, read_set

WSL2 = HostFacts(observed=True, wsl2=True, link="PXB")
NVLINK = HostFacts(observed=True, wsl2=False, link="NV18", peer_access=True)
NO_PEER = HostFacts(observed=True, wsl2=False, link="PHB", peer_access=False)
RECIPES = {recipe.name: recipe for recipe in read_set(COLLECTION_RECIPES / "dual-rtx-pro-6000-tp2.toml").recipe}
QWEN: Recipe = RECIPES["qwen35-122b-a10b-nvfp4-tp2"]
SEED = {
    "NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "0", "NCCL_CUMEM_ENABLE": "0", "NCCL_CUMEM_HOST_ENABLE": "0", "NCCL_NVLS_ENABLE": "0",
    "NCCL_IB_DISABLE": "1", "NCCL_DEBUG": "INFO", "CUDA_VISIBLE_DEVICES": "0,1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
}  # fmt: skip


def test_wsl2_gets_the_whole_contract() -> None:
    contract = contract_for(Need(WSL2, QWEN))
    assert contract.variables() == SEED
    assert [rule.name for rule in contract.arguments] == ["--disable-custom-all-reduce"]
    assert all(rule.reason and rule.source for rule in contract.environment)


def test_pcie_without_peer_access_gets_it_too() -> None:
    assert contract_for(Need(NO_PEER, QWEN)).variables() == SEED


def test_nvlink_on_bare_metal_gets_none_of_the_transport() -> None:
    contract = contract_for(Need(NVLINK, QWEN))
    assert set(contract.variables()) == {"NCCL_DEBUG", "CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES"}
    assert contract.arguments == ()


def test_one_role_has_no_collective() -> None:
    single = replace(QWEN, needs=replace(QWEN.needs, roles=1))
    assert contract_for(Need(WSL2, single)).variables() == {}


def test_one_gpu_gets_its_order_and_nothing_of_the_transport() -> None:
    """Case B4: CUDA counts the fastest card first, the listing does not."""
    single = replace(QWEN, needs=replace(QWEN.needs, roles=1))
    assert contract_for(Need(WSL2, single, ("GPU-a",))).variables() == {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": "0",
    }
    assert contract_for(Need(WSL2, single, ("cpu",))).variables() == {}


def test_a_process_sees_the_host_s_devices_and_a_container_its_own() -> None:
    gpus = tuple(Gpu(index, "RTX", f"GPU-{index}", f"0{index}", "591", 1, 1, None, "12.0") for index in range(3))
    facts, devices = replace(NVLINK, gpus=gpus), ("GPU-1", "GPU-2")
    assert contract_for(Need(facts, QWEN, devices)).variables()["CUDA_VISIBLE_DEVICES"] == "0,1"
    process = replace(QWEN, engine=replace(QWEN.engine, runtime="process", image=None, lock="x.txt"))
    assert contract_for(Need(facts, process, devices)).variables()["CUDA_VISIBLE_DEVICES"] == "1,2"


def test_the_daemon_s_kernel_counts_for_containers() -> None:
    """Docker Desktop: the controller may reach another machine than the one that runs them."""
    desktop = DockerFacts(
        "29.1.5",
        "1.52",
        "1.44",
        "6.6-microsoft-standard-WSL2",
        "Docker Desktop",
        "x86_64",
        True,
        True,
        False,
        False,
        None,
        (),
        (),
    )
    facts = replace(NVLINK, docker=desktop)
    assert contract_for(Need(facts, QWEN)).variables() == SEED
    process = replace(QWEN, engine=replace(QWEN.engine, runtime="process", image=None, lock="x.txt"))
    assert "NCCL_P2P_DISABLE" not in contract_for(Need(facts, process)).variables()


def test_the_page_shows_this_very_table() -> None:
    page = (Path(__file__).parents[5] / "docs" / "contract.md").read_text(encoding="utf-8")
    shown = [
        [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        for line in page.splitlines()
        if line.startswith("| `")
    ]
    assert shown == [
        [
            rule.name,
            rule.wanted.replace("{ordinals}", "the roles' numbers"),
            rule.when,
            ", ".join(rule.engines) or "all",
            rule.reason,
            rule.source,
        ]
        for rule in TABLE
    ]
