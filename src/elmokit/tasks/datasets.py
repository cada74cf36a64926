"""The data sets that the paper's table is made on here, and what the paper reports."""

from dataclasses import dataclass
from pathlib import Path

from elmokit.errors import InputError
from elmokit.tasks.run import TaskFiles

VECTORS = "vectors/glove6b_subset.100d.txt.xz"
# Runs of each variant unless it is said how many.
SEEDS = 3


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """Files of one task, below a folder of data."""

    task: str
    name: str
    """As in a table; unique among a task's."""
    train: tuple[str, ...]
    dev: str
    test: tuple[str, ...]
    """The first of them gives the figure of the table."""
    base_changes: tuple[str, ...] = ()
    """Settings that do better than the task's defaults on its dev data without a biLM."""
    text: tuple[str, ...] = ()
    """What a biLM is tuned on where that is not the training data."""
    is_main: bool = True
    """Whether it stands in the paper's table of six tasks, or beside it."""
    main_seeds: int = SEEDS
    """Runs of each variant in the main table unless it is said how many."""

    @property
    def test_names(self) -> list[str]:
        """The tests as records of runs name them."""
        return [name.rpartition("/")[2] for name in self.test]

    def files(self, folder: Path) -> TaskFiles:
        """Give the files in a folder."""
        return TaskFiles(
            train=tuple(folder / name for name in self.train),
            dev=folder / self.dev,
            test=tuple(folder / name for name in self.test),
        )


@dataclass(frozen=True, kw_only=True)
class PaperFigures:
    """A line of the paper's table 1, in per cent."""

    base: float
    """Its own base model."""
    elmo: float
    """The same with ELMo."""
    relative: float
    """The relative reduction of the error, as the paper states it."""


PAPER = {
    "squad": PaperFigures(base=81.1, elmo=85.8, relative=24.9),
    "snli": PaperFigures(base=88.0, elmo=88.7, relative=5.8),
    "srl": PaperFigures(base=81.4, elmo=84.6, relative=17.2),
    "coref": PaperFigures(base=67.2, elmo=70.4, relative=9.8),
    "ner": PaperFigures(base=90.15, elmo=92.22, relative=21.0),
    "sst": PaperFigures(base=51.4, elmo=54.7, relative=6.8),
}

DATA_SETS = (
    DataSet(
        task="squad",
        name="SQuAD 1.1 dev by article",
        train=(
            "squad/squad1.1-dev.jsonl.xz#train",
            "squad/fairytaleqa.train.jsonl.xz",
            "squad/qamr.dev.jsonl.xz",
            "squad/qamr.test.jsonl.xz",
        ),
        dev="squad/squad1.1-dev.jsonl.xz#dev",
        test=("squad/squad1.1-dev.jsonl.xz#test",),
    ),
    DataSet(
        task="snli",
        name="SNLI, 28k other pairs",
        train=(
            "nli/wiki_nli.train.jsonl.xz",
            "nli/snli_cad.train.jsonl.xz",
            "nli/sick.train.jsonl.xz",
        ),
        dev="nli/snli.dev.jsonl.xz",
        test=("nli/snli.test.jsonl.xz", "nli/sick.test.jsonl.xz", "nli/breaking_nli.test.jsonl.xz"),
    ),
    DataSet(
        task="srl",
        name="EWT PropBank",
        train=("srl/ewt_propbank.train.jsonl.xz",),
        dev="srl/ewt_propbank.dev.jsonl.xz",
        test=("srl/ewt_propbank.test.jsonl.xz",),
    ),
    DataSet(
        task="coref",
        name="OntoGUM",
        train=("coref/ontogum.jsonl.xz#train",),
        dev="coref/ontogum.jsonl.xz#dev",
        test=("coref/ontogum.jsonl.xz#test", "coref/ontogum.jsonl.xz#test2"),
    ),
    DataSet(
        task="ner",
        name="CoNLL-2003",
        train=("ner/conll2003.train.txt.xz",),
        dev="ner/conll2003.dev.txt.xz",
        test=("ner/conll2003.test.txt.xz",),
        base_changes=("model.dropout=0.4", "min_count=20", "word_dropout=0.1", "capitals=0.1"),
        main_seeds=5,
    ),
    DataSet(
        task="sst",
        name="SST-5, phrases",
        train=("sst5/train.trees.txt.xz",),
        dev="sst5/dev.jsonl.xz",
        test=("sst5/test.jsonl.xz",),
        text=("sst5/train.jsonl.xz",),
    ),
    DataSet(
        task="coref",
        name="LitBank",
        train=("coref/litbank.jsonl.xz#train",),
        dev="coref/litbank.jsonl.xz#dev",
        test=("coref/litbank.jsonl.xz#test",),
        is_main=False,
    ),
    DataSet(
        task="ner",
        name="UNER-EWT",
        train=("ner/uner_ewt.train.jsonl.xz",),
        dev="ner/uner_ewt.dev.jsonl.xz",
        test=("ner/uner_ewt.test.jsonl.xz",),
        is_main=False,
    ),
    DataSet(
        task="ner",
        name="WNUT-17",
        train=("ner/wnut17.train.jsonl.xz",),
        dev="ner/wnut17.dev.jsonl.xz",
        test=("ner/wnut17.test.jsonl.xz",),
        is_main=False,
    ),
    DataSet(
        task="sst",
        name="SST-5, sentences",
        train=("sst5/train.jsonl.xz",),
        dev="sst5/dev.jsonl.xz",
        test=("sst5/test.jsonl.xz",),
        is_main=False,
    ),
)


def data_sets(names: list[str]) -> list[DataSet]:
    """Choose data sets: ``ner`` for a task's main one, ``ner/WNUT-17`` for another; none: all main.

    ``all`` gives every one.
    """
    if not names:
        return [one for one in DATA_SETS if one.is_main]
    if names == ["all"]:
        return list(DATA_SETS)
    chosen = []
    for name in names:
        task, _, wanted = name.partition("/")
        found = [
            one
            for one in DATA_SETS
            if one.task == task and (one.name == wanted if wanted else one.is_main)
        ]
        if not found:
            known = ", ".join(f"{one.task}/{one.name}" for one in DATA_SETS)
            raise InputError(f"tasks: expected a task, or one of {known}; found {name!r}")
        chosen += found
    return chosen
