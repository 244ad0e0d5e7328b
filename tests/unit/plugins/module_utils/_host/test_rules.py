"""The contract follows from the facts, and is applied nowhere else."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.tandem.campaign.plugins.module_utils._host.rules import contract_for
from ansible_collections.tandem.campaign.plugins.module_utils._words.host import HostFacts
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
    contract = contract_for(WSL2, QWEN)
    assert contract.variables() == SEED
    assert [rule.name for rule in contract.arguments] == ["--disable-custom-all-reduce"]
    assert contract.conflicts == ()
    assert all(rule.reason and rule.source for rule in contract.environment)


def test_pcie_without_peer_access_gets_it_too() -> None:
    assert contract_for(NO_PEER, QWEN).variables() == SEED


def test_nvlink_on_bare_metal_gets_none_of_the_transport() -> None:
    contract = contract_for(NVLINK, QWEN)
    assert set(contract.variables()) == {"NCCL_DEBUG", "CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES"}
    assert contract.arguments == ()


def test_one_role_has_no_collective() -> None:
    single = replace(QWEN, needs=replace(QWEN.needs, roles=1))
    assert contract_for(WSL2, single).variables() == {}


def test_a_missing_flag_is_a_conflict() -> None:
    args = tuple(group for group in QWEN.args if group != ("--disable-custom-all-reduce",))
    assert "--disable-custom-all-reduce" in contract_for(WSL2, replace(QWEN, args=args)).conflicts[0]
    assert contract_for(NVLINK, replace(QWEN, args=args)).conflicts == ()


def test_symmetric_memory_is_a_conflict() -> None:
    recipe = RECIPES["deepseek-v4-flash-0731-tp2"]
    conflicts = contract_for(WSL2, replace(recipe, args=(*recipe.args, ("--enable-symm-mem",)))).conflicts
    assert len(conflicts) == 1
    assert "over the contract" in conflicts[0]
