"""`elmo demo`: what context does to *bank*, *play*, *right* and *spring*."""

from typing import TYPE_CHECKING, Any

from elmokit.cli.options import Json, ModelOption, print_json

if TYPE_CHECKING:
    from elmokit.embed.elmo import Elmo

# Two senses of each word, two sentences for each sense.
WORDS = {
    "bank": {
        "river": (
            "She sat on the bank of the river and watched the water .",
            "The boat was tied to a tree on the north bank of the stream .",
        ),
        "money": (
            "The bank raised its interest rates on loans .",
            "She works at a bank that lends money to farmers .",
        ),
    },
    "play": {
        "theatre": (
            "Shakespeare 's last play was not a comedy .",
            "The play was first performed at a theatre in London .",
        ),
        "game": (
            "They play football against other schools .",
            "The children play in the garden every day .",
        ),
    },
    "right": {
        "law": (
            "Every citizen has the right to vote .",
            "The court denied him the right to a trial .",
        ),
        "side": (
            "He broke his right arm in the accident .",
            "She writes with her right hand .",
        ),
    },
    "spring": {
        "season": (
            "They were married in the spring of 1920 .",
            "He returned home in the spring and left again in the autumn .",
        ),
        "water": (
            "A hot spring feeds the small lake .",
            "The spring at the foot of the rock gives fresh water .",
        ),
    },
}
SUBSTITUTES = 5


def command(model: ModelOption = None, as_json: Json = False) -> None:
    """Embed words that mean different things in different sentences and compare."""
    from elmokit.embed.load import load

    elmo = load(model)
    facts = {
        "model": elmo.metadata.get("name"),
        "trained": elmo.metadata.get("trained") != "no",
        "words": [_compare(elmo, word) for word in WORDS],
        "substitutes": _substitutes(elmo),
    }
    if as_json:
        print_json(facts)
    else:
        _show(facts, elmo.layer_count)


def _compare(elmo: "Elmo", word: str) -> dict[str, Any]:
    """Compare the vectors that a word has in its sentences, layer by layer."""
    senses = [sense for sense, sentences in WORDS[word].items() for _ in sentences]
    tokens = [sentence.split() for group in WORDS[word].values() for sentence in group]
    embedded = elmo.embed(tokens, layers="all")
    same, other, similarities = [], [], []
    for layer in range(elmo.layer_count):
        vectors = [
            vectors[layer, words.index(word)]
            for vectors, words in zip(embedded, tokens, strict=True)
        ]
        similarity = [[float(elmo.similarity(a, b)) for b in vectors] for a in vectors]
        pairs = [(row, column) for row in range(len(senses)) for column in range(row)]
        alike = [similarity[a][b] for a, b in pairs if senses[a] == senses[b]]
        unlike = [similarity[a][b] for a, b in pairs if senses[a] != senses[b]]
        same.append(round(sum(alike) / len(alike), 4))
        other.append(round(sum(unlike) / len(unlike), 4))
        similarities.append([[round(value, 4) for value in row] for row in similarity])
    return {
        "word": word,
        "senses": senses,
        "sentences": [" ".join(words) for words in tokens],
        "same_sense": same,
        "other_sense": other,
        "similarity": similarities,
    }


def _substitutes(elmo: "Elmo") -> dict[str, list[str]] | None:
    """Say what else could stand in the place of a word, if the model can predict words."""
    from elmokit.errors import InputError

    try:
        elmo.language_model  # noqa: B018 - reads the softmax, where there is one
    except InputError:
        return None
    found = {}
    for word, senses in WORDS.items():
        sentence = next(iter(senses.values()))[0]
        gap = (sentence.split(), sentence.split().index(word))
        best = elmo.substitutes(gap, count=SUBSTITUTES, rescore=False)
        found[sentence] = [substitute.word for substitute in best if substitute.word != word]
    return found


def _show(facts: dict[str, Any], layer_count: int) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    for row in facts["words"]:
        for sense, sentence in zip(row["senses"], row["sentences"], strict=True):
            marked = sentence.replace(row["word"], f"[bold]{row['word']}[/bold]", 1)
            console.print(f"{row['word']:7} {sense:8} {marked}", soft_wrap=True)
    table = Table(
        title="Mean cosine similarity of a word with itself in another sentence:\n"
        "with the same sense / with the other sense",
        caption="layer 0 is the word without context",
    )
    table.add_column("word")
    for layer in range(layer_count):
        table.add_column(f"layer {layer}", justify="right")
    for row in facts["words"]:
        means = zip(row["same_sense"], row["other_sense"], strict=True)
        table.add_row(row["word"], *(f"{same:.2f} / {other:.2f}" for same, other in means))
    console.print(table)
    if facts["substitutes"] is not None:
        console.print("\nWhat else could stand there:")
        for word, (sentence, words) in zip(WORDS, facts["substitutes"].items(), strict=True):
            gap = sentence.replace(word, f"[bold]{word}[/bold]", 1)
            console.print(f"  {gap}  {', '.join(words)}", soft_wrap=True)
    if not facts["trained"]:
        console.print(
            "This model is [bold]untrained[/bold]: its weights are random. Layer 0 knows the word "
            "alone and the layers above know its context, but what is near to what means nothing."
        )
    console.print(
        "\nNext: elmo embed FILE -o vectors.h5 --layers all\n"
        '      elmo substitutes "The ___ raised its rates"\n'
        "      elmo info"
    )
