"""Whatever shares a batch, a request gets the probabilities that the library gives it alone."""

import pytest

from elmokit.embed.elmo import Elmo
from elmokit.lm.gap import Gap
from elmokit.serve.language import Scoring, Shortlist, Shortlisting
from elmokit.serve.work import Part
from unit.serve.small_service import small_elmo

SENTENCES = [
    ["the", "cat", "sat", "on", "the", "mat", "."],
    ["dog"],
    ["größe", "字", "unlisted"],
    ["the", "dog"] * 12,
]


@pytest.fixture(scope="module")
def elmo() -> Elmo:
    return small_elmo()


def test_gaps_of_several_requests_are_looked_at_together(elmo: Elmo) -> None:
    asked = [
        Shortlist(Gap(tuple(words[:place]), tuple(words[place + 1 :]), words[place]), count)
        for words in SENTENCES
        for place, count in ((0, 3), (len(words) - 1, 100))
    ]
    parts = [Part(None, asked[:1]), Part(None, asked[1:5]), Part(None, asked[5:])]
    found = Shortlisting(elmo).begin(parts)()
    assert [len(results) for results in found] == [1, 4, 3]
    for item, result in zip(asked, [one for part in found for one in part], strict=True):
        tokens = item.gap.filled([item.gap.word or ""])
        alone = elmo.substitutes((tokens, len(item.gap.left)), count=item.most, rescore=False)
        assert result == alone


def test_sentences_of_several_requests_are_scored_together(elmo: Elmo) -> None:
    parts = [Part(None, SENTENCES[:1]), Part(None, SENTENCES[1:])]
    first, second = Scoring(elmo, "both").begin(parts)()
    assert first + second == [elmo.score([words])[0] for words in SENTENCES]
