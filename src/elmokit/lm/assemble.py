"""From a corpus and a preset to everything that a training needs, checked and on its device."""

from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from elmokit.config import Marks, ModelConfig
from elmokit.corpus.layout import UNKNOWN
from elmokit.corpus.prepared import PreparedCorpus
from elmokit.engine.build import build_bilm
from elmokit.errors import FormatError, InputError
from elmokit.formats.checkpoint import Checkpoint
from elmokit.formats.word_vectors import read_word_vectors
from elmokit.lm.learner import BiLMLearner
from elmokit.lm.memory import check_memory, free_bytes, needed_bytes
from elmokit.lm.objective import BiLMObjective
from elmokit.lm.presets import Preset
from elmokit.lm.settings import TrainSettings, with_precision
from elmokit.lm.word_table import WordTable
from elmokit.nn.softmax import LanguageModelSoftmax
from elmokit.text.token_indexer import TokenIndexer
from elmokit.text.vocabulary import Vocabulary
from elmokit.training.distributed import World


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a training consists of."""

    config: ModelConfig
    """The model, its vocabulary settled."""
    settings: TrainSettings
    """The recipe, its precision settled."""
    vocabulary: Vocabulary
    """The words to predict."""
    indexer: TokenIndexer
    """What the model reads of a word."""
    objective: BiLMObjective
    """The modules that are trained."""
    learner: BiLMLearner
    """The modules with their text, as the loop sees them."""
    memory: str
    """What will be used of the memory, in words."""


def assemble(
    corpus: PreparedCorpus,
    preset: Preset,
    *,
    device: torch.device,
    world: World,
    start: Checkpoint | None = None,
    vectors: Path | None = None,
    fused: bool = True,
) -> Parts:
    """Build all of it; see `pretrain` for the arguments."""
    config, settings = settled(preset, corpus, start, device=device.type)
    vocabulary, characters, targets = corpus.vocabulary(config.softmax_size), None, None
    words = marked_words(corpus, config.marks)
    if start is not None:
        assert start.vocabulary is not None
        vocabulary, characters = start.vocabulary, start.characters
        targets = vocabulary.ids(words)
    known: dict[int, Tensor] = {}
    if vectors is not None:
        config, known = with_vectors(config, vectors, vocabulary)
    rows = world.share(settings.rows)
    needed = needed_bytes(
        config,
        settings,
        rows=rows.stop - rows.start,
        device=device.type,
        types=corpus.type_count,
    )
    memory = check_memory(needed, free_bytes(device))
    objective = build_objective(config, settings, start=start, fused=fused)
    put_vectors(objective, known)
    objective.to(device)
    indexer = TokenIndexer.for_model(config, vocabulary=vocabulary, characters=characters)
    table = WordTable(words, indexer, objective.bilm.token_encoder, device=device)
    learner = BiLMLearner(
        objective, table, corpus, settings, world=world, device=device, targets=targets
    )
    return Parts(
        config=config,
        settings=settings,
        vocabulary=vocabulary,
        indexer=indexer,
        objective=objective,
        learner=learner,
        memory=memory,
    )


def settled(
    preset: Preset,
    corpus: PreparedCorpus,
    start: Checkpoint | None = None,
    *,
    device: str = "cpu",
) -> tuple[ModelConfig, TrainSettings]:
    """Fill in what only the corpus, the model to go on from, or the kind of device decides."""
    config, settings = preset.model, with_precision(preset.settings, device)
    if start is None:
        size = settings.vocabulary_size or corpus.vocabulary_size
        if size > corpus.type_count:
            raise InputError(
                f"vocabulary_size: the corpus has {corpus.type_count} distinct words, found {size}"
            )
        if config.words is not None:
            config = replace(config, words=replace(config.words, vocabulary_size=size))
        config = replace(config, softmax_size=size, tokeniser=corpus.tokeniser)
    else:
        config = start.config
    words = config.words
    if settings.tie_softmax and (
        words is None or config.characters is not None
        or words.embedding_dim != config.projection_dim
    ):  # fmt: skip
        raise InputError(
            "tie_softmax: only a model that reads words alone, by vectors of the size of its "
            "projection, can share them with the softmax"
        )
    return config, settings


def marked_words(corpus: PreparedCorpus, marks: Marks) -> list[str]:
    """Give a corpus's distinct words with the marks as a model writes them."""
    return [marks.begin, marks.end, marks.unknown, *corpus.words[UNKNOWN + 1 :]]


def with_vectors(
    config: ModelConfig, file: Path, vocabulary: Vocabulary
) -> tuple[ModelConfig, dict[int, Tensor]]:
    """Read static vectors and make room for their size."""
    if config.words is None:
        raise InputError("vectors: only a model that reads words begins with them; add --words")
    known, vectors = read_word_vectors(file, limit=0, wanted=vocabulary)  # vectors: (V, D)
    if not known:
        raise FormatError(file, "holds no word of the corpus", hint="use vectors of its language")
    size = vectors.shape[1]
    words = replace(config.words, embedding_dim=size)
    fits = config.characters is None and size == config.projection_dim
    rows = dict(zip(vocabulary.ids(known).tolist(), torch.from_numpy(vectors), strict=True))
    return replace(config, words=words, token_projection=not fits), rows


def put_vectors(objective: BiLMObjective, known: dict[int, Tensor]) -> None:
    """Let known words begin with their vectors."""
    if known:
        words = objective.bilm.token_encoder.words
        assert words is not None
        with torch.no_grad():
            words.weight[list(known)] = torch.stack(list(known.values()))


def build_objective(
    config: ModelConfig, settings: TrainSettings, *, start: Checkpoint | None, fused: bool
) -> BiLMObjective:
    """Make the modules with fresh weights, or with those of a checkpoint."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        bilm = build_bilm(config)
        assert config.softmax_size is not None
        softmax = LanguageModelSoftmax(
            vocabulary_size=config.softmax_size, dim=config.projection_dim
        )
    if settings.tie_softmax:
        words = bilm.token_encoder.words
        assert words is not None
        words.weight = softmax.weight
    dtype = torch.bfloat16 if settings.precision == "bfloat16" else torch.float32
    objective = BiLMObjective(bilm=bilm, softmax=softmax, dtype=dtype, fused=fused)
    if start is not None:
        own = {name: t for name, t in start.tensors.items() if not name.startswith("softmax.")}
        own = {name: t for name, t in own.items() if not name.startswith("start_state.")}
        bilm.load_state_dict(own)
        softmax.load_state_dict(
            {part: start.tensors[f"softmax.{part}"] for part in ("weight", "bias")}
        )
    return objective
