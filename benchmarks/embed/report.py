"""The report in Markdown."""

from collections.abc import Iterable, Sequence
from typing import Any

from embed.figures import Figures
from embed.machine import GIGABYTE

NOTES = """\
A token is a token of the text, whatever a contender cuts it into. Timed is the way from lists of
tokens to vectors: elmokit gives all layers as one array per sentence; peers run what their own
interface gives (ELMo peers all layers, BERT its last, MiniLM one vector per sentence), without a
gradient, and torch peers may leave the vectors on their device. Batches of peers are neighbours
in the text; ELMoForManyLangs and sentence-transformers sort by length first, as they always do.
*All at once* is elmokit's own choice of batches in one call; its columns with a batch size are
calls with so many sentences. *New words*: its word cache was empty at the start of the run (a
model loaded afresh and warmed up on words that are not in the text); everywhere else it has met
the words of the text before. Of AllenNLP's token cache the figures for new words are computed:
filling it with the words of the whole text, then the whole text at the measured rate. Runs in
batches of slow contenders take evenly spaced batches of the text; runs one at a time all take
the same sentences. Figures are medians over the rounds, in which contenders take turns; between
groups that were not in memory at once, ratios go by way of the first of ours, which is in every
group."""


def markdown(report: dict[str, Any], figures: dict[str, Figures]) -> str:
    """Write the facts, then every size."""
    lines = ["# Embedding: speed", ""]
    lines += [f"- {name}: {value}" for name, value in report["facts"].items()]
    lines += ["", NOTES]
    for size, measured in report["sizes"].items():
        lines += ["", *_size(size, measured, figures[size], report["batches"])]
    return "\n".join(lines) + "\n"


def _size(
    size: str, measured: dict[str, Any], figures: Figures, batches: Sequence[int]
) -> list[str]:
    lines = [f"## {size}", ""]
    sizes = [figures.record(one.name)["facts"] for one in figures.contenders if one.is_ours]
    if sizes:
        facts = sizes[0]
        lines += [
            f"`{facts['model']}`: {facts['layers']} layers in each direction, cell "
            f"{facts['cell']:,}, projection {facts['projection']:,}.",
            "",
        ]
    if measured["absent"]:
        lines += ["Absent:", ""]
        lines += [f"- {name}: {reason}" for name, reason in measured["absent"].items()] + [""]
    lines += ["### Tokens per second", "", *_rates(figures, batches)]
    for batch in batches:
        lines += _ratios(
            figures,
            f"elmokit all at once over peers in batches of {batch}",
            ours={"own-new": "new words", "own": "known words"},
            theirs=f"batch-{batch}",
        )
    lines += _ratios(
        figures,
        "One sentence at a time",
        ours={"single-new": "new words", "single": "known words"},
        theirs="single",
    )
    lines += ["", "### Loading, memory, one sentence, agreement", "", *_properties(figures)]
    products = _products(figures)
    return lines + (["", "### Share of the machine's product", "", *products] if products else [])


def _rates(figures: Figures, batches: Sequence[int]) -> list[str]:
    columns = {
        "single-new": "one at a time, new words",
        "single": "one at a time",
        **{f"batch-{batch}": f"batch {batch}" for batch in batches},
        "own-new": "all at once, new words",
        "own": "all at once",
    }
    rows = [
        [one.title, *(_number(figures.rate(one.name, setting)) for setting in columns)]
        for one in figures.contenders
    ]
    lines = _table(["", *columns.values()], rows)
    for one in figures.contenders:
        facts = figures.record(one.name)["facts"]
        if "cache_seconds" in facts:
            computed = ", ".join(
                f"batch {batch}: {_number(figures.rate(one.name, f'batch-{batch}-new'))}"
                for batch in batches
            )
            lines += [
                "",
                f"{one.title}: its {facts['cache_words']:,} words took "
                f"{facts['cache_seconds']:.1f} s; with them, new words, {computed}.",
            ]
    return lines


def _ratios(figures: Figures, title: str, *, ours: dict[str, str], theirs: str) -> list[str]:
    peers = [one for one in figures.contenders if not one.is_ours]
    mine = [one for one in figures.contenders if one.is_ours]
    if not peers or not mine:
        return []
    rows = []
    for one in mine:
        for setting, words in ours.items():
            ratios = {}
            for peer in peers:
                # A cache that is filled before has new words too, and pays for them.
                cached = "cache_seconds" in figures.record(peer.name)["facts"]
                their_setting = f"{theirs}-new" if cached and setting.endswith("-new") else theirs
                ratios[peer.name] = figures.ratio(one.name, setting, peer.name, their_setting)
            known = [ratio for ratio in ratios.values() if ratio is not None]
            cells = [_ratio(ratio) for ratio in ratios.values()]
            fastest = _ratio(min(known)) if known else "–"
            rows.append([f"{one.title}, {words}", *cells, f"**{fastest}**"])
    header = ["ratio", *(peer.title for peer in peers), "the fastest of them"]
    return ["", f"### Ratios: {title}", "", *_table(header, rows)]


def _properties(figures: Figures) -> list[str]:
    header = [
        "", "imports s", "load s", "first call s", "peak memory GiB", "of a GPU GiB", "p50 ms",
        "p95 ms", "p50, p95 ms new words", "largest difference", "mean cosine by layer",
    ]  # fmt: skip
    rows = []
    for one in figures.contenders:
        record = figures.record(one.name)
        facts, memory, agreement = record["facts"], record["memory"], record["agreement"]
        latency, new = figures.latency(one.name), figures.latency(one.name, "single-new")
        rows.append(
            [
                one.title,
                f"{facts['imports_seconds']:.1f}",
                f"{facts['load_seconds']:.1f}",
                _fixed(record["first_call_seconds"], 2),
                _gigabytes(memory.get("peak_bytes")),
                _gigabytes(memory.get("device_bytes")),
                *(_fixed(None if latency is None else latency[p], 1) for p in ("p50", "p95")),
                "–" if new is None else f"{new['p50']:.1f}, {new['p95']:.1f}",
                "–" if agreement is None else f"{agreement['largest_difference']:.1e}",
                "–"
                if agreement is None
                else " ".join(f"{cosine:.6f}" for cosine in agreement["mean_cosine_by_layer"]),
            ]
        )
    return [
        *_table(header, rows),
        "",
        "Agreement is with elmokit in float32 on the same weights and sentences: ours from its "
        'default start, peers on their first call, against `start="zeros"`. ELMoForManyLangs '
        "has weights of its own format and is compared with elmokit on these.",
    ]


def _products(figures: Figures) -> list[str]:
    operations, products = figures.operations_per_token(), figures.products()
    fewest = figures.operations_per_token(first_input=False)
    if operations is None or fewest is None or not products:
        return []
    some = next(one for one in figures.contenders if one.is_ours)
    facts = figures.record(some.name)["facts"]
    cell, projection = facts["cell"], facts["projection"]
    counts = next(iter(products.values()))
    rows = [
        [dtype, *(f"{rate / 1e9:,.0f}" for rate in rates.values())]
        for dtype, rates in products.items()
    ]
    lines = [
        f"GFLOP/s of (B × {projection}) · ({projection} × {4 * cell}), the weights of both "
        "directions in turn, by rows B; on a CPU the faster of torch's own product and of "
        "oneDNN's with packed weights:",
        "",
        *_table(["", *(f"{count}" for count in counts)], rows),
        "",
        f"Counted for elmokit: {operations / 1e6:,.1f} MFLOP a token for the LSTMs' products "
        "(input, recurrent, projection; 2 · layers · 2 directions · (4 · cell · 2 · projection + "
        "cell · projection)), tokens of the text alone: neither the sentence marks nor the "
        "character CNN nor anything pointwise counts. The input product of the first layer "
        "counts for every token although an engine may do it once per distinct word; the last "
        f"column leaves it out ({fewest / 1e6:,.1f} MFLOP).",
        "",
    ]
    shares = []
    for one in figures.contenders:
        rates = products.get(one.options.get("dtype", ""))
        if not one.is_ours or rates is None:
            continue
        for setting, words in (("own-new", "new words"), ("own", "known words")):
            rate = figures.rate(one.name, setting)
            if rate is not None:
                reached = rate * operations
                shares.append(
                    [f"{one.title}, {words}", f"{reached / 1e9:,.0f}"]
                    + [f"{reached / product:.0%}" for product in rates.values()]
                    + [f"**{reached / max(rates.values()):.0%}**"]
                    + [f"{rate * fewest / max(rates.values()):.0%}"]
                )
    header = ["share, all at once", "GFLOP/s", *(f"of B = {c}" for c in counts)]
    header += ["of the highest", "without the first input"]
    return lines + _table(header, shares)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(header)} |", f"|{' --- |' * len(header)}"]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _fixed(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _gigabytes(count: int | None) -> str:
    return "–" if count is None else f"{count / GIGABYTE:.2f}"
