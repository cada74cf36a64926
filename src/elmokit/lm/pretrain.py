"""A prepared corpus to a biLM: build, train, evaluate, write a model folder."""

import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from elmokit.config import ModelConfig
from elmokit.corpus.prepared import PreparedCorpus
from elmokit.engine.build import build_bilm
from elmokit.engine.runner import Runner
from elmokit.errors import InputError
from elmokit.files import replacing_file, write_json, write_text
from elmokit.formats import native
from elmokit.formats.checkpoint import Checkpoint, start_state_tensors
from elmokit.lm.evaluate import Evaluation, evaluate
from elmokit.lm.held_out import held_out_text
from elmokit.lm.language_model import LanguageModel
from elmokit.lm.learner import BiLMLearner
from elmokit.lm.memory import check_memory, free_bytes, needed_bytes
from elmokit.lm.model_card import model_card
from elmokit.lm.objective import BiLMObjective
from elmokit.lm.presets import Preset
from elmokit.lm.settings import TrainSettings
from elmokit.lm.word_table import WordTable
from elmokit.lm.word_vectors_file import read_word_vectors
from elmokit.nn.softmax import LanguageModelSoftmax
from elmokit.text.token_indexer import TokenIndexer
from elmokit.text.vocabulary import Vocabulary
from elmokit.training.distributed import own_device, world
from elmokit.training.journal import LiveLine
from elmokit.training.loop import Ending, Loop, LoopSettings
from elmokit.training.schedule import Schedule

MODEL_FOLDER = "model"
RESULT_FILE = "result.json"


@dataclass(frozen=True, kw_only=True)
class Conduct:
    """What changes nothing about the result of a run."""

    device: str = "auto"
    """``auto``, ``cpu`` or ``cuda``."""
    save_every: int = 1000
    """Steps between two checkpoints."""
    keep: int = 2
    """How many checkpoints are kept."""
    log_every: int = 10
    """Steps between two records of the log."""
    minutes: float | None = None
    """Save and end after so much time; started again the run goes on."""
    tensorboard: bool = False
    """Whether to write TensorBoard files too."""
    fused: bool = True
    """Whether to use the fast way of computing; the plain one is for comparison."""
    quiet: bool = False
    """Whether to say nothing while it runs."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a run ended."""

    ending: Ending
    """``finished``, ``stopped`` by a signal, or ``out of time``."""
    step: int
    """Steps done."""
    steps: int
    """Steps to do."""
    seconds: float
    """Time spent in this process."""
    model: Path | None
    """The model folder of a finished run."""
    evaluation: Evaluation | None
    """The held-out figures of a finished run, where there is held-out text."""


def pretrain(
    corpus_folder: Path,
    run_folder: Path,
    preset: Preset,
    *,
    conduct: Conduct | None = None,
    name: str = "",
    start: Checkpoint | None = None,
    vectors: Path | None = None,
) -> Outcome:
    """Train a biLM on a prepared corpus; a run that was stopped goes on where it was.

    ``start`` gives the weights to begin with (fine-tuning), ``vectors`` a file of static word
    vectors for a model that reads words.
    """
    conduct = conduct or Conduct()
    started = time.monotonic()
    corpus = PreparedCorpus(corpus_folder)
    device = own_device(conduct.device)
    with world(device) as everyone:
        line = LiveLine(quiet=conduct.quiet or not everyone.is_first)
        config, settings = settled(preset, corpus)
        vocabulary = corpus.vocabulary(config.softmax_size)
        known: dict[int, Tensor] = {}
        if vectors is not None:
            config, known = with_vectors(config, vectors, vocabulary)
        objective = build_objective(config, settings, start=start, fused=conduct.fused)
        put_vectors(objective, known)
        objective.to(device)
        indexer = TokenIndexer.for_model(config, vocabulary=vocabulary, characters=None)
        rows = everyone.share(settings.rows)
        needed = needed_bytes(
            config, settings, rows=rows.stop - rows.start, device=device.type,
            types=corpus.type_count,
        )  # fmt: skip
        memory = check_memory(needed, free_bytes(device))
        encoder = objective.bilm.token_encoder
        table = WordTable(corpus.words, indexer, encoder, device=device)
        learner = BiLMLearner(objective, table, corpus, settings, world=everyone, device=device)
        steps = settings.steps or max(1, round(settings.epochs * learner.steps_per_epoch))
        if everyone.is_first:
            run_folder.mkdir(parents=True, exist_ok=True)
        everyone.wait()
        loop = Loop(
            learner,
            loop_settings(settings, conduct, steps),
            run_folder,
            facts=_facts(config, settings, corpus, start),
            world=everyone,
            line=line,
            tensorboard=conduct.tensorboard,
        )
        resumed = loop.resume()
        parameters = sum(p.numel() for p in objective.parameters())
        line.say(
            f"{'resuming at step ' + str(resumed) if resumed else 'starting'}: {steps:,} steps of "
            f"{learner.items_per_step:,} tokens, {parameters:,} parameters, vocabulary "
            f"{config.softmax_size:,}, {device.type} x {everyone.size}, {settings.precision}; "
            f"{memory}"
        )
        ending = loop.run()
        evaluation = model_folder = None
        if ending == "finished" and everyone.is_first:
            checkpoint = trained_checkpoint(
                objective, config, settings, vocabulary, name or run_folder.name
            )
            evaluation = held_out_evaluation(objective, corpus, vocabulary, indexer, config, line)
            model_folder = run_folder / MODEL_FOLDER
            result = {
                "steps": steps,
                "tokens_per_epoch": corpus.facts["splits"]["train"]["tokens"],
                "epochs": steps / learner.steps_per_epoch,
                "seconds": loop.seconds,
                "device": _device_name(device),
                "processes": everyone.size,
                "held_out": None if evaluation is None else asdict(evaluation),
            }
            _write_model(checkpoint, model_folder, run_folder, settings, corpus, result)
        everyone.wait()
        return Outcome(
            ending=ending,
            step=loop.step,
            steps=steps,
            seconds=time.monotonic() - started,
            model=model_folder,
            evaluation=evaluation,
        )


def settled(preset: Preset, corpus: PreparedCorpus) -> tuple[ModelConfig, TrainSettings]:
    """Fill in what only the corpus knows."""
    config, settings = preset.model, preset.settings
    size = settings.vocabulary_size or corpus.vocabulary_size
    if size > corpus.type_count:
        raise InputError(
            f"vocabulary_size: the corpus has {corpus.type_count} distinct words, found {size}"
        )
    words = config.words
    if words is not None:
        words = replace(words, vocabulary_size=size)
    if settings.tie_softmax and (
        words is None or config.characters is not None
        or words.embedding_dim != config.projection_dim
    ):  # fmt: skip
        raise InputError(
            "tie_softmax: only a model that reads words alone, by vectors of the size of its "
            "projection, can share them with the softmax"
        )
    config = replace(config, words=words, softmax_size=size, tokeniser=corpus.tokeniser)
    return config, settings


def with_vectors(
    config: ModelConfig, file: Path, vocabulary: Vocabulary
) -> tuple[ModelConfig, dict[int, Tensor]]:
    """Read static vectors and make room for their size."""
    if config.words is None:
        raise InputError("vectors: only a model that reads words begins with them; add --words")
    known, size = read_word_vectors(file, vocabulary)
    words = replace(config.words, embedding_dim=size)
    fits = config.characters is None and size == config.projection_dim
    return replace(config, words=words, token_projection=not fits), known


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
    objective = BiLMObjective(
        bilm=bilm, softmax=softmax, dtype=getattr(torch, settings.precision), fused=fused
    )
    if start is not None:
        own = {name: t for name, t in start.tensors.items() if not name.startswith("softmax.")}
        own = {name: t for name, t in own.items() if not name.startswith("start_state.")}
        bilm.load_state_dict(own)
        softmax.load_state_dict(
            {part: start.tensors[f"softmax.{part}"] for part in ("weight", "bias")}
        )
    return objective


def loop_settings(settings: TrainSettings, conduct: Conduct, steps: int) -> LoopSettings:
    """Give the loop its part of the settings."""
    return LoopSettings(
        schedule=Schedule(
            peak=settings.learning_rate,
            steps=steps,
            warm_up=settings.warm_up,
            decay=settings.decay,
            decay_share=settings.decay_share,
            final_share=settings.final_share,
        ),
        optimiser=settings.optimiser,
        weight_decay=settings.weight_decay,
        beta2=settings.beta2,
        clip=settings.clip,
        log_every=conduct.log_every,
        save_every=conduct.save_every,
        keep=conduct.keep,
        minutes=conduct.minutes,
    )


def trained_checkpoint(
    objective: BiLMObjective,
    config: ModelConfig,
    settings: TrainSettings,
    vocabulary: Vocabulary,
    name: str,
) -> Checkpoint:
    """Give the model as formats write it.

    A model that has often begun anew knows zeros best, so they are its start state.
    """
    tensors: dict[str, Tensor] = {
        **objective.bilm.state_dict(),
        "softmax.weight": objective.softmax.weight,
        "softmax.bias": objective.softmax.bias,
    }
    if settings.document_resets or settings.sentence_resets:
        shapes = start_state_tensors(config)
        tensors.update({part: torch.zeros(shape) for part, shape in shapes.items()})
    return Checkpoint(
        config=config,
        tensors={n: t.detach().to("cpu", torch.float32).contiguous() for n, t in tensors.items()},
        vocabulary=vocabulary,
        metadata={"name": name},
    )


def held_out_evaluation(
    objective: BiLMObjective,
    corpus: PreparedCorpus,
    vocabulary: Vocabulary,
    indexer: TokenIndexer,
    config: ModelConfig,
    line: LiveLine,
) -> Evaluation | None:
    """Evaluate on the corpus's held-out text, its documents' context carried."""
    split = corpus.split("valid")
    if split is None or len(split.tokens) == 0:
        return None
    bilm = objective.bilm.eval()
    model = LanguageModel(
        runner=Runner(bilm, indexer=indexer, marks=config.marks),
        softmax=objective.softmax,
        vocabulary=vocabulary,
    )
    text = held_out_text(corpus, split, config.marks)
    done = 0

    def advance(tokens: int) -> None:
        nonlocal done
        done += tokens
        line.show(f"held-out text: {done / text.tokens / 2:.0%}")

    return evaluate(model, text, start="zeros", advance=advance)


def _write_model(
    checkpoint: Checkpoint,
    folder: Path,
    run_folder: Path,
    settings: TrainSettings,
    corpus: PreparedCorpus,
    result: dict[str, Any],
) -> None:
    native.write(checkpoint, folder, overwrite=True)
    with replacing_file(folder / "README.md") as beside:
        write_text(beside, model_card(checkpoint, settings, corpus.facts, result))
    with replacing_file(run_folder / RESULT_FILE) as beside:
        write_json(beside, result)


def _facts(
    config: ModelConfig, settings: TrainSettings, corpus: PreparedCorpus, start: Checkpoint | None
) -> dict[str, Any]:
    """Gather what a checkpoint must agree with to be gone on from."""
    facts = {
        "model": config.to_dict(),
        "settings": settings.to_dict(),
        "corpus": {
            "types": corpus.type_count,
            "tokens": corpus.facts["splits"]["train"]["tokens"],
        },
        "begun_from": None if start is None else start.metadata.get("name", ""),
    }
    plain: dict[str, Any] = json.loads(json.dumps(facts))
    return plain


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
