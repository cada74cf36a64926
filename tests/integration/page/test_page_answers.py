"""What the page shows are the library's answers."""

import contextlib
import io
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pytest

import elmokit.tasks
from elmokit.analysis.context_index import ContextIndex
from elmokit.embed.elmo import Elmo
from integration.page.visit import Visit

BANKS = "She sat on the bank of the river.\nThe bank raised its rates.\nHe robbed a bank."
NAMES = "Angela Merkel met Google in Berlin.\nNobody came."

# Both sides compute in float32, in batches of other shapes, and the page shows six decimals.
TOLERANCE = 1e-4

Visits = Callable[..., Visit]
Matrix = npt.NDArray[np.float64]


def tokenised(elmo: Elmo, text: str) -> list[list[str]]:
    return [[token.text for token in elmo.tokenise(line)] for line in text.splitlines()]


def expected_cosines(
    elmo: Elmo, text: str, chosen: tuple[int, int], layers: int | Sequence[float]
) -> list[list[float]]:
    rows = elmo.embed(tokenised(elmo, text), layers=layers)
    word = rows[chosen[0]][chosen[1]]
    return [elmo.similarity(word, row)[0].tolist() for row in rows]


def check_cosines(visit: Visit, expected: list[list[float]]) -> None:
    found = visit.cosines()
    assert [len(line) for line in found] == [len(line) for line in expected]
    for line, wanted in zip(found, expected, strict=True):
        assert line == pytest.approx(wanted, abs=TOLERANCE)


def test_chips_are_the_models_tokens_with_their_similarity(visit: Visits, elmo: Elmo) -> None:
    visited = visit()
    visited.open_text(BANKS)
    assert visited.words() == tokenised(elmo, BANKS)
    for chosen in ((0, 4), (1, 1)):
        visited.choose(*chosen)
        for layer in (2, 1, 0):
            visited.page.locator(".ticks button").nth(layer).click()
            check_cosines(visited, expected_cosines(elmo, BANKS, chosen, layer))
        visited.page.locator("#layer").fill("2")
        check_cosines(visited, expected_cosines(elmo, BANKS, chosen, 2))
    # One request brought all layers of all words, and clicks took nothing more.
    assert [body["layers"] for body in visited.asked("v1/tokens")] == ["all"]


def test_similarity_can_be_read_without_colour(visit: Visits) -> None:
    visited = visit()
    visited.open()
    chips = visited.page.locator(".chip")
    numbers = chips.locator("small").all_text_contents()
    flat = [cosine for line in visited.cosines() for cosine in line]
    for number, cosine in zip(numbers, flat, strict=True):
        assert cosine is not None
        assert float(number.replace("\N{MINUS SIGN}", "-")) == pytest.approx(cosine, abs=0.00501)
    levels = chips.evaluate_all("all => all.map(one => Number(one.dataset.level))")
    assert levels == [round(10 * max(cosine or 0, 0)) for cosine in flat]


def test_a_mix_of_layers_is_the_librarys_mix(visit: Visits, elmo: Elmo) -> None:
    visited = visit()
    visited.open_text(BANKS, (0, 4))
    visited.page.locator("#mixed").click()
    check_cosines(visited, expected_cosines(elmo, BANKS, (0, 4), [1 / 3] * 3))
    for layer, amount in enumerate((10, 0, 30)):
        visited.page.locator(f"#share-{layer}").fill(str(amount))
    assert visited.page.locator(".share output").all_text_contents() == ["0.25", "0.00", "0.75"]
    check_cosines(visited, expected_cosines(elmo, BANKS, (0, 4), [0.25, 0, 0.75]))
    visited.page.locator("#single").click()
    check_cosines(visited, expected_cosines(elmo, BANKS, (0, 4), 2))


def test_bars_are_the_librarys_surprise(visit: Visits, elmo: Elmo) -> None:
    visited = visit()
    visited.open_text(BANKS + "\nA zxqwv sat.")
    scores = elmo.score(tokenised(elmo, BANKS + "\nA zxqwv sat."))
    for side in ("forward", "backward"):
        for found, score in zip(visited.surprises(side), scores, strict=True):
            wanted = [-value for value in getattr(score, side)[:-1]]  # the last is the mark's
            assert found == pytest.approx(wanted, abs=TOLERANCE * 10)
    unknown = visited.page.locator(".chip.unknown > span").all_text_contents()
    known = [word for score in scores for word in np.array(score.tokens)[list(score.unknown)]]
    assert unknown == known == ["zxqwv"]
    # A bar is as long as its number says.
    bars = visited.page.locator("i.forward")
    long, short = (bars.nth(place).bounding_box() for place in (4, 0))
    values = visited.surprises("forward")[0]
    assert long and short
    assert long["height"] / short["height"] == pytest.approx(values[4] / values[0], rel=0.05)


def test_substitutes_are_the_librarys(visit: Visits, elmo: Elmo) -> None:
    visited = visit()
    visited.open_text(BANKS, (0, 4))
    tokens = tokenised(elmo, BANKS)
    check_substitutes(visited, elmo, (tokens[0], 4), rescore=False)
    visited.choose(2, 3)
    check_substitutes(visited, elmo, (tokens[2], 3), rescore=False)
    visited.page.locator("#exact").click()
    visited.settle()
    check_substitutes(visited, elmo, (tokens[2], 3), rescore=True)
    # A word that was asked about is not asked about again.
    visited.choose(0, 4)
    check_substitutes(visited, elmo, (tokens[0], 4), rescore=False)
    assert len(visited.asked("v1/substitutes")) == 3


def check_substitutes(
    visit: Visit, elmo: Elmo, place: tuple[list[str], int], *, rescore: bool
) -> None:
    found = visit.substitutes()
    wanted = elmo.substitutes(place, count=8, rescore=rescore)
    assert [word for word, _ in found] == [one.word for one in wanted]
    probabilities = [one.probability for one in wanted]
    assert [value for _, value in found] == pytest.approx(probabilities, rel=1e-3)


def test_the_same_word_elsewhere_is_compared_layer_by_layer(visit: Visits, elmo: Elmo) -> None:
    visited = visit()
    visited.open_text(BANKS, (1, 1))
    rows = visited.page.locator("#elsewhere tbody tr")
    assert [row.strip() for row in rows.locator("th").all_text_contents()] == ["1 bank", "3 bank"]
    wanted = [expected_cosines(elmo, BANKS, (1, 1), layer) for layer in range(3)]
    for row, (sentence, token) in enumerate(((0, 4), (2, 3))):
        shown = [float(cell) for cell in rows.nth(row).locator("td").all_text_contents()]
        expected = [wanted[layer][sentence][token] for layer in range(3)]
        assert shown == pytest.approx(expected, abs=0.0051)


def test_the_map_shows_the_principal_components(visit: Visits, elmo: Elmo) -> None:
    visited = visit()
    visited.open_text(BANKS)
    for layer in (0, 2):
        visited.page.locator(".ticks button").nth(layer).click()
        points = visited.page.locator("#map .point").evaluate_all(
            "all => all.map(({dataset: d}) =>"
            " [Number(d.sentence), Number(d.token), Number(d.x), Number(d.y)])"
        )
        tokens = tokenised(elmo, BANKS)
        rows = elmo.embed(tokens, layers=layer)
        words = [
            (sentence, token)
            for sentence, line in enumerate(tokens)
            for token, word in enumerate(line)
            if word != "."
        ]
        assert [(sentence, token) for sentence, token, *_ in points] == words
        unit = np.stack([rows[sentence][token] for sentence, token in words]).astype(np.float64)
        unit /= np.linalg.norm(unit, axis=1, keepdims=True)
        places = np.array([[x, y] for *_, x, y in points])
        np.testing.assert_allclose(places, principal(unit), atol=TOLERANCE)


def principal(points: Matrix) -> Matrix:
    """Two components, each with its longest entry positive."""
    left, lengths, _ = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    found: Matrix = left[:, :2] * lengths[:2]
    lengths = np.abs(found)
    longest = (lengths > lengths.max(axis=0) - 1e-9).argmax(axis=0)  # the first of equal ones
    return found * np.sign(found[longest, [0, 1]])


def test_neighbours_are_the_indexs(visit: Visits, index: ContextIndex) -> None:
    visited = visit()
    visited.open_text(BANKS)
    for marked, place in (
        ("She sat on the *bank* of the river.", (0, 4)),
        ("The *bank* raised its rates.", (1, 1)),
    ):
        visited.choose(*place)
        lines = visited.page.locator("#neighbours li")
        wanted = index.most_similar(marked, 6)
        assert lines.locator("span:last-child").all_text_contents() == [
            one.sentence for one in wanted
        ]
        found = lines.evaluate_all("all => all.map(one => Number(one.dataset.similarity))")
        assert found == pytest.approx([one.similarity for one in wanted], abs=TOLERANCE * 10)
        assert lines.locator("b").all_text_contents()[0] == wanted[0].word
    visited.page.locator("#release").click()
    assert visited.page.locator("#neighbours li").count() == 0


def test_words_beside_asterisks_have_neighbours(
    visit: Visits, index: ContextIndex, elmo: Elmo
) -> None:
    """Asterisks mark the word for the index, so where people typed some the place is sent."""
    visited = visit()
    visited.open_text("* She sat on the bank of the river *.")
    words = visited.words()[0]
    visited.choose(0, words.index("bank"))
    (vectors,) = elmo.embed([words], layers=index.facts.layers)
    wanted = index.similar_by_vector(vectors[words.index("bank")], 6)
    lines = visited.page.locator("#neighbours li")
    assert len(wanted) > 1
    assert lines.locator("span:last-child").all_text_contents() == [one.sentence for one in wanted]
    found = lines.evaluate_all("all => all.map(one => Number(one.dataset.similarity))")
    assert found == pytest.approx([one.similarity for one in wanted], abs=TOLERANCE * 10)


def test_names_are_the_tasks(visit: Visits) -> None:
    visited = visit()
    visited.open_text("Nobody came.")
    assert "No names" in visited.page.locator("[data-task=ner]").inner_text()
    visited.write(NAMES)
    (answer, _) = elmokit.tasks.load("ner").predict(NAMES.splitlines())
    assert len(answer["entities"]) > 1
    lines = visited.page.locator("[data-task=ner] li")
    assert lines.count() == 1
    text = "".join(lines.locator("div").inner_text().split())
    for entity in answer["entities"]:
        assert "".join(entity["text"].split()) + entity["label"] in text
    assert lines.locator("mark").count() == len(answer["entities"])


def test_the_copied_program_prints_what_is_seen(visit: Visits) -> None:
    visited = visit()
    visited.open_text('The "bank" \\ of the river.\nThe bank raised its rates — again.')
    (surprise,) = printed_by(visited)
    words = [word for line in visited.words() for word in line]
    assert [line[-1] for line in surprise] == words
    visited.choose(1, 1)
    check_program(visited, words)
    visited.page.locator("#mixed").click()
    visited.page.locator("#share-0").fill("7")
    check_program(visited, words)


def check_program(visited: Visit, words: list[str]) -> None:
    similarity, surprise, substitutes = printed_by(visited)
    assert [line[-1] for line in similarity] == [line[-1] for line in surprise] == words
    flat = [cosine for line in visited.cosines() for cosine in line]
    assert [float(line[0]) for line in similarity] == pytest.approx(flat, abs=TOLERANCE)
    for column, side in enumerate(("forward", "backward")):
        flat = [value for line in visited.surprises(side) for value in line]
        assert [float(line[column]) for line in surprise] == pytest.approx(flat, abs=1e-3)
    shown = visited.substitutes()
    assert [word for _, word in substitutes] == [word for word, _ in shown]
    wanted = [probability for _, probability in shown]
    assert [float(value) for value, _ in substitutes] == pytest.approx(wanted, abs=TOLERANCE)


def printed_by(visited: Visit) -> list[list[list[str]]]:
    """Copy the program and run it."""
    visited.page.locator("#copy-python").click()
    visited.page.locator("#shown-copy").click()
    visited.page.get_by_text("Copied", exact=True).wait_for()
    program = visited.page.evaluate("navigator.clipboard.readText()")
    assert program == visited.page.locator("#shown-text").input_value()
    visited.page.keyboard.press("Escape")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "copied", "exec"), {})
    return parts_of(printed.getvalue())


def parts_of(printed: str) -> list[list[list[str]]]:
    """Cut what a copied program prints at its headings into lists of columns."""
    parts: list[list[list[str]]] = []
    for line in printed.splitlines():
        if line.startswith(("similarity", "surprise", "in the place")):
            parts.append([])
        else:
            parts[-1].append(line.split())
    return parts
