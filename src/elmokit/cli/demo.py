"""`elmo demo`: what context does to the word *bank*."""

from elmokit.cli.options import Json, ModelOption, print_json

RIVER = "She sat on the bank of the river and watched the water ."
MONEY = "He took the money to the bank and opened an account ."
PAIRS = (
    ("bank", RIVER, "bank", MONEY),
    ("bank", RIVER, "river", RIVER),
    ("bank", MONEY, "account", MONEY),
    ("the", RIVER, "the", MONEY),
)


def command(model: ModelOption = None, as_json: Json = False) -> None:
    """Embed two sentences in which "bank" means different things and compare."""
    from elmokit.embed.load import load

    elmo = load(model)
    vectors = dict(
        zip((RIVER, MONEY), elmo.embed([RIVER.split(), MONEY.split()], layers="all"), strict=True)
    )
    rows = []
    for first, first_sentence, second, second_sentence in PAIRS:
        similarities = []
        for layer in range(elmo.layer_count):
            left = vectors[first_sentence][layer, first_sentence.split().index(first)]
            right = vectors[second_sentence][layer, second_sentence.split().index(second)]
            similarities.append(round(float(elmo.similarity(left, right)), 4))
        rows.append(
            {
                "first": f"{first} ({_name(first_sentence)})",
                "second": f"{second} ({_name(second_sentence)})",
                "similarity": similarities,
            }
        )
    trained = elmo.metadata.get("trained") != "no"
    if as_json:
        print_json({"model": elmo.metadata.get("name"), "trained": trained, "pairs": rows})
        return
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(f"river: {RIVER}\nmoney: {MONEY}\n", highlight=False)
    table = Table(title="Cosine similarity by layer (0: before context)")
    for heading in ("word", "and word"):
        table.add_column(heading)
    for layer in range(elmo.layer_count):
        table.add_column(f"layer {layer}", justify="right")
    for row in rows:
        table.add_row(
            str(row["first"]), str(row["second"]), *(f"{value:.2f}" for value in row["similarity"])
        )
    console.print(table)
    if not trained:
        console.print(
            "This model is [bold]untrained[/bold]: its weights are random. Layer 0 knows the word "
            "alone and the layers above know its context, but what is near to what means nothing."
        )
    console.print(
        "\nNext: elmo embed FILE -o vectors.h5 --layers all\n"
        "      elmo info PATH-OF-A-MODEL\n"
        "      elmo demo --model PATH-OF-A-TRAINED-MODEL",
        highlight=False,
    )


def _name(sentence: str) -> str:
    return "river" if sentence == RIVER else "money"
