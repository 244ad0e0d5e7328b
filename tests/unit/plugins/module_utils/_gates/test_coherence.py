"""Language passes, garbage does not. The garbage is what real engines said."""

from __future__ import annotations

import pytest
from ansible_collections.tandem.campaign.plugins.module_utils._gates.coherence import incoherence

GOOD = [
    "Leaves are green because they contain chlorophyll, a green pigment that allows them to absorb sunlight and convert it into energy. "
    "This process is a crucial part of photosynthesis, where green plants use sunlight to convert carbon dioxide into glucose.",
    "Bread is made by fermenting yeast and water, which are combined in a dough that's shaped into a loaf. The dough is then kneaded until "
    "it becomes soft and elastic, and then it's left to rest for a period of time, allowing the yeast to grow.",
    "1. Stay hydrated: drink plenty of water.\n2. Eat a balanced diet: it is essential for your health.\n3. Get enough sleep: aim for eight hours.",
    "Yes, very, very, very much so: it is the best of all of them.",
]
BAD = {
    "empty": " \n",
    "replacement": "The ocean is \ufffd\ufffd and vast.",
    "dashes": "building a_ --------------------------------------- the",
    "word loop": "You: You: You: You: You: You: You: You",
    "phrase loop": "The sum of the sum of the sum of the sum of the sum of the sum of the",
    "portuguese": "Não é ao que? A nossa amiga Clara está no leste de Lisboa e este é o mesmo que ela disse ontem para todos os seus amigos da escola "
    "quando chegou com a mãe depois do almoço",
    "chinese": "海洋是一个广阔而神秘的领域，充满了生命，是无数物种的家园。",
    "symbols": "_-_ -- _- ,, --, {} [] __ -_ ,, -- _ ,,- -- [ ] _-",
    "corrupt rope": "land wis most wis wis civil thend wisistant SMSMSM thesms building wis Distribution wis landing most wis bool thend wis "
    "user quantity wis civil thend most building wis landing",
    "long loop": "one two three four five six seven eight nine ten eleven twelve " * 12,
}


@pytest.mark.parametrize("text", GOOD)
def test_language(text: str) -> None:
    assert incoherence(text) is None


@pytest.mark.parametrize("name", sorted(BAD))
def test_garbage(name: str) -> None:
    assert incoherence(BAD[name])


def test_another_language_may_be_asked_for() -> None:
    assert incoherence(BAD["portuguese"], english=False) is None
