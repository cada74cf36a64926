"""A trained model and text of a domain to a model that knows the domain too."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from elmokit.corpus.layout import CORPUS_FILE
from elmokit.corpus.prepare import prepare
from elmokit.corpus.prepared import PreparedCorpus
from elmokit.corpus.sources import PathLike
from elmokit.errors import InputError
from elmokit.files import (
    STANDARD_INPUT,
    is_file,
    read_json,
    replacing_file,
    write_json,
    write_text,
)
from elmokit.formats import native
from elmokit.formats.checkpoint import Checkpoint, start_state_tensors
from elmokit.lm.before_after import BeforeAfter, Judge, before_after
from elmokit.lm.model_card import model_card
from elmokit.lm.new_words import (
    INPUT,
    WEIGHT,
    Extended,
    frequent_new_words,
    with_new_softmax,
    with_new_words,
    word_counts,
)
from elmokit.lm.output_layer import output_layer
from elmokit.lm.presets import Preset, changed
from elmokit.lm.pretrain import (
    RESULT_FILE,
    Outcome,
    pretrain_holding_lock,
)
from elmokit.lm.settings import TrainSettings
from elmokit.text.vocabulary import Vocabulary
from elmokit.training.conduct import Conduct, locked_run
from elmokit.training.distributed import is_first_process, process_count
from elmokit.training.journal import LiveLine

CORPUS_FOLDER = "corpus"
BEFORE_FILE = "before.json"

DEFAULT_NEW_WORDS = 10_000
DEFAULT_NEW_SOFTMAX = 50_000
DEFAULT_MIN_COUNT = 5
DEFAULT_HELD_OUT = 0.02

# docs/training.md has what was measured.
RECIPE = TrainSettings(
    epochs=2.0,
    rows=32,
    window=32,
    optimiser="adamw",
    learning_rate=3e-4,
    warm_up=20,
    decay="linear",
    clip=1.0,
    sum_over_window=False,
    samples=None,
)
# How often models begin anew in training that are used from a state of zeros.
DOCUMENT_RESETS, SENTENCE_RESETS = 0.5, 0.02


@dataclass(frozen=True, kw_only=True)
class DomainText:
    """Which text a model is taken to, and what of it becomes vocabulary."""

    corpus: tuple[PathLike, ...]
    """A prepared folder, or files, folders and patterns as `prepare` reads them."""
    valid: tuple[PathLike, ...] = ()
    """Held-out text to measure on; else a share of the corpus."""
    held_out: float | None = None
    """That share."""
    field: str | None = None
    """Where JSON records have their text."""
    new_words: int | None = None
    """How many new words become rows of the softmax, at most; 0: the vocabulary stays."""
    min_count: int = DEFAULT_MIN_COUNT
    """How often a new word must occur."""
    new_softmax: bool = False
    """Whether a model without a softmax gets one."""

    def __post_init__(self) -> None:
        if not self.corpus:
            raise InputError("corpus: names no file; name text files or a prepared folder")
        if self.new_words is not None and self.new_words < 0:
            raise InputError(f"new_words: expected 0 or more, found {self.new_words}")
        if self.min_count < 1:
            raise InputError(f"min_count: expected 1 or more, found {self.min_count}")

    def to_dict(self) -> dict[str, Any]:
        """Give plain values; paths do not depend on the current folder."""
        plain = asdict(self)
        for name in ("corpus", "valid"):
            plain[name] = [_absolute(path) for path in plain[name]]
        return plain


@dataclass(frozen=True, kw_only=True)
class Finetuned:
    """How a fine-tuning ended."""

    run: Outcome
    """What `pretrain` says about the run."""
    parent: str
    """Name of the model that it began with."""
    old_words: int
    """Words that the parent predicts."""
    new_words: int
    """Words that it predicts beyond those."""
    old_vocabulary: BeforeAfter | None
    """Over the parent's vocabulary: new words count as unknown, so both figures answer the same
    question. None without held-out text or where the parent had no softmax."""
    new_vocabulary: BeforeAfter | None
    """Over the grown vocabulary: ``before`` is the model after the surgery and before training.
    None without held-out text or where the vocabulary stayed as it was."""


def recipe_for(parent: Checkpoint, changes: Sequence[str] = ()) -> TrainSettings:
    """Give the recipe of a model, with changes written ``key=value``.

    A model whose start state is zeros was trained to begin anew now and then, and goes on so. A
    model that shares word vectors with its softmax goes on sharing them.
    """
    settings = RECIPE
    states = [parent.tensors.get(name) for name in start_state_tensors(parent.config)]
    if all(state is not None and not state.any() for state in states):
        settings = replace(
            settings, document_resets=DOCUMENT_RESETS, sentence_resets=SENTENCE_RESETS
        )
    weights = [parent.tensors.get(name) for name in (INPUT, WEIGHT)]
    if weights[0] is not None and weights[1] is not None and torch.equal(weights[0], weights[1]):
        settings = replace(settings, tie_softmax=True)
    chosen = changed(Preset(model=parent.config, settings=settings), list(changes))
    if chosen.model.to_dict() != parent.config.to_dict():
        raise InputError(
            f"set: fine-tuning keeps the model as it is and changes its recipe, found "
            f"{' '.join(changes)}"
        )
    if chosen.settings.vocabulary_size is not None:
        raise InputError(
            "vocabulary_size: the old words stay, and new_words (--new-words) says how many are "
            f"added, found {chosen.settings.vocabulary_size}"
        )
    return chosen.settings


def finetune(
    parent: Checkpoint,
    text: DomainText,
    run_folder: Path,
    *,
    settings: TrainSettings | None = None,
    conduct: Conduct | None = None,
    name: str = "",
) -> Finetuned:
    """Train a model on; a run that was stopped goes on where it was.

    Raw text is cut by the model's own tokeniser into ``run_folder/corpus``. Held-out text is
    evaluated before and after.
    """
    conduct = conduct or Conduct()
    settings = settings or recipe_for(parent)
    with locked_run(run_folder, conduct):
        return _finetune_holding_lock(
            parent, text, run_folder, settings=settings, conduct=conduct, name=name
        )


def _finetune_holding_lock(
    parent: Checkpoint,
    text: DomainText,
    run_folder: Path,
    *,
    settings: TrainSettings,
    conduct: Conduct,
    name: str,
) -> Finetuned:
    parent_name = parent.metadata.get("name") or parent.source_format
    if parent.config.softmax_size is None and not text.new_softmax:
        raise InputError(
            f"model: {parent_name!r} has no softmax, so it cannot learn from text; find the files "
            "that hold it, or let a new one be trained (new_softmax, --new-softmax)"
        )
    request = {"parent": parent_name, **text.to_dict()}
    before = _kept_before(run_folder, request)
    corpus = _corpus(parent, text, run_folder)
    if before is None and is_first_process():
        # So that nobody who asks for something else goes on with this corpus.
        _write(run_folder / BEFORE_FILE, {"request": request})
    extended = _extended(parent, text, corpus, settings)
    start = replace(
        extended.checkpoint,
        metadata={
            "name": parent_name,
            "parent": parent_name,
            **{key: parent.metadata[key] for key in ("licence",) if key in parent.metadata},
        },
    )
    new = len(extended.new_rows)
    had_softmax = parent.config.softmax_size is not None
    judge = Judge(corpus, conduct)
    line = LiveLine(quiet=conduct.quiet or not is_first_process())
    if new and had_softmax:
        line.say(f"{new:,} new words join the {len(extended.old_rows):,} that {parent_name} knows")
    elif new:
        line.say(f"{parent_name} has no softmax; a new one learns {new:,} words from the beginning")
    if before is None and is_first_process():
        before = {
            "old": judge(parent) if had_softmax else None,
            "new": judge(start) if new else None,
        }
        _write(run_folder / BEFORE_FILE, {"request": request, **before})
    run = pretrain_holding_lock(
        corpus.folder,
        run_folder,
        Preset(model=start.config, settings=settings),
        conduct=conduct,
        name=name,
        start=start,
    )
    before = before or {"old": None, "new": None}
    after: dict[str, Any] = {"old": None, "new": None}
    if run.model is not None:
        result = native.read(run.model)
        after["new"] = None if run.evaluation is None else asdict(run.evaluation)
        if not new:
            after = {"old": after["new"], "new": None}
        elif had_softmax:
            assert parent.vocabulary is not None
            after["old"] = judge.over_old_words(result, extended, parent.vocabulary)
    finetuned = Finetuned(
        run=run,
        parent=parent_name,
        old_words=len(extended.old_rows),
        new_words=new,
        old_vocabulary=before_after(before["old"], after["old"]),
        new_vocabulary=before_after(before["new"], after["new"]),
    )
    if run.model is not None:
        _write_result(finetuned, result, settings, corpus, run_folder)
    return finetuned


def _corpus(parent: Checkpoint, text: DomainText, run_folder: Path) -> PreparedCorpus:
    """Open the prepared corpus, or prepare the raw text."""
    first = Path(text.corpus[0])
    if len(text.corpus) == 1 and is_file(first / CORPUS_FILE):
        if text.valid or text.held_out is not None or text.field is not None:
            raise InputError(
                f"{first}: a prepared corpus has its held-out text already; leave out valid, "
                "held_out and field, or pass the raw text"
            )
        corpus = PreparedCorpus(first)
    else:
        folder = run_folder / CORPUS_FOLDER
        if not is_file(folder / CORPUS_FILE):
            if process_count() > 1:
                raise InputError(
                    "corpus: several processes need a prepared one; run elmo prepare first with "
                    f"--tokeniser {parent.config.tokeniser}"
                )
            run_folder.mkdir(parents=True, exist_ok=True)
            share = text.held_out
            if share is None and not text.valid:
                share = DEFAULT_HELD_OUT
            prepare(
                text.corpus,
                folder,
                valid=text.valid,
                held_out=share,
                field=text.field,
                tokeniser=parent.config.tokeniser,
            )
        corpus = PreparedCorpus(folder)
    if corpus.tokeniser != parent.config.tokeniser:
        raise InputError(
            f"{corpus.folder}: its text was cut by the tokeniser {corpus.tokeniser!r}, and the "
            f"model's is {parent.config.tokeniser!r}; prepare it again with --tokeniser "
            f"{parent.config.tokeniser}, or pass the raw text"
        )
    return corpus


def _extended(
    parent: Checkpoint, text: DomainText, corpus: PreparedCorpus, settings: TrainSettings
) -> Extended:
    counts = word_counts(corpus)
    if parent.config.softmax_size is None:
        most = DEFAULT_NEW_SOFTMAX if text.new_words is None else text.new_words
        marks_only = Vocabulary((), marks=parent.config.marks)
        chosen = frequent_new_words(corpus, counts, marks_only, most=most, min_count=text.min_count)
        return with_new_softmax(parent, corpus, counts, chosen, seed=settings.seed)
    _, vocabulary = output_layer(parent)  # says what is missing
    chosen = frequent_new_words(
        corpus,
        counts,
        vocabulary,
        most=DEFAULT_NEW_WORDS if text.new_words is None else text.new_words,
        min_count=text.min_count,
    )
    if not chosen:
        rows = torch.arange(len(vocabulary)).numpy()
        return Extended(checkpoint=parent, old_rows=rows, new_rows=rows[:0])
    return with_new_words(parent, corpus, counts, chosen)


def _kept_before(run_folder: Path, request: dict[str, Any]) -> dict[str, Any] | None:
    """Give what was measured before the run's first step, if it has come so far already."""
    file = run_folder / BEFORE_FILE
    if not is_file(file):
        return None
    kept = read_json(file)
    for key, value in request.items():
        found = kept.get("request", {}).get(key)
        if found != value:
            raise InputError(
                f"{run_folder} belongs to a fine-tuning with {key} = {found!r}, found {value!r}; "
                "go on with the same arguments, or begin in another folder"
            )
    return {part: kept[part] for part in ("old", "new")} if "old" in kept else None


def _write_result(
    finetuned: Finetuned,
    result: Checkpoint,
    settings: TrainSettings,
    corpus: PreparedCorpus,
    run_folder: Path,
) -> None:
    """Add to what `pretrain` wrote where the model comes from and what it gained."""
    file = run_folder / RESULT_FILE
    facts = read_json(file)
    facts["parent"] = finetuned.parent
    facts["new_words"] = finetuned.new_words
    for part in ("old_vocabulary", "new_vocabulary"):
        compared: BeforeAfter | None = getattr(finetuned, part)
        facts[part] = None if compared is None else asdict(compared)
    _write(file, facts)
    assert finetuned.run.model is not None
    lines = [
        "## Fine-tuning",
        "",
        f"- begun with the model `{finetuned.parent}`, whose softmax knew "
        f"{finetuned.old_words:,} words; {finetuned.new_words:,} new ones were added",
        *(f"- held-out perplexity {line}" for line in perplexities(finetuned)),
        "",
    ]
    card = model_card(result, settings, corpus.facts, facts) + "\n" + "\n".join(lines)
    with replacing_file(finetuned.run.model / "README.md") as beside:
        write_text(beside, card)


def perplexities(finetuned: Finetuned) -> list[str]:
    """Say in a line for each vocabulary what the fine-tuning has changed."""
    lines = []
    for compared, words in (
        (finetuned.old_vocabulary, f"over the {finetuned.old_words:,} old words"),
        (finetuned.new_vocabulary, f"over all words, {finetuned.new_words:,} of them new"),
    ):
        if compared is not None:
            values = [
                f"{found.perplexity:.2f}" if found is not None else "?"
                for found in (compared.before, compared.after)
            ]
            lines.append(f"{words}: {values[0]} before, {values[1]} after")
    return lines


def _write(file: Path, facts: dict[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing_file(file) as beside:
        write_json(beside, facts)


def _absolute(path: PathLike) -> str:
    name = os.fspath(path)
    return name if name == STANDARD_INPUT else str(Path(name).absolute())
