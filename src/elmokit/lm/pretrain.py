"""A prepared corpus to a biLM: build, train, evaluate, write a model folder."""

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from elmokit.corpus.prepared import PreparedCorpus
from elmokit.engine.runner import Runner
from elmokit.files import replacing_file, sha256_of, write_json, write_text
from elmokit.formats import native
from elmokit.formats.checkpoint import Checkpoint, start_state_tensors
from elmokit.lm.assemble import Parts, assemble
from elmokit.lm.evaluate import Evaluation
from elmokit.lm.held_out import evaluate_held_out
from elmokit.lm.language_model import LanguageModel
from elmokit.lm.model_card import model_card
from elmokit.lm.presets import Preset
from elmokit.lm.settings import TrainSettings
from elmokit.training.conduct import Conduct, locked_run
from elmokit.training.distributed import own_device, world
from elmokit.training.journal import LiveLine
from elmokit.training.loop import Ending, Loop, LoopSettings
from elmokit.training.schedule import Schedule

MODEL_FOLDER = "model"
RESULT_FILE = "result.json"


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

    ``start`` is a model with a softmax to go on from (fine-tuning): its sizes and its vocabulary
    count, and of the preset only the recipe. ``vectors`` is a file of static word vectors for a
    model that reads words.
    """
    conduct = conduct or Conduct()
    with locked_run(run_folder, conduct):
        return pretrain_holding_lock(
            corpus_folder,
            run_folder,
            preset,
            conduct=conduct,
            name=name,
            start=start,
            vectors=vectors,
        )


def pretrain_holding_lock(
    corpus_folder: Path,
    run_folder: Path,
    preset: Preset,
    *,
    conduct: Conduct,
    name: str,
    start: Checkpoint | None = None,
    vectors: Path | None = None,
) -> Outcome:
    """Do the work of `pretrain` for a caller that has the folder by `locked_run`."""
    started = time.monotonic()
    corpus = PreparedCorpus(corpus_folder)
    device = own_device(conduct.device)
    with world(device) as everyone:
        with everyone.together():
            pass  # the first has the lock, or all end here
        line = LiveLine(quiet=conduct.quiet or not everyone.is_first)
        parts = assemble(
            corpus,
            preset,
            device=device,
            world=everyone,
            start=start,
            vectors=vectors,
            fused=conduct.fused,
        )
        learner, settings = parts.learner, parts.settings
        steps = settings.steps or max(1, round(settings.epochs * learner.steps_per_epoch))
        loop = Loop(
            learner,
            loop_settings(settings, conduct, steps),
            run_folder,
            facts=_facts(parts, corpus, start, vectors),
            world=everyone,
            line=line,
            tensorboard=conduct.tensorboard,
            since=started,
        )
        resumed = loop.resume()
        parameters = sum(p.numel() for p in parts.objective.parameters())
        line.say(
            f"{'resuming at step ' + str(resumed) if resumed else 'starting'}: {steps:,} steps of "
            f"{learner.items_per_step:,} tokens, {parameters:,} parameters, vocabulary "
            f"{parts.config.softmax_size:,}, {device.type} x {everyone.size}, "
            f"{settings.precision}; {parts.memory}"
        )
        ending = loop.run()
    # The others need not wait for what the first does alone.
    evaluation = model_folder = None
    if ending == "finished" and everyone.is_first:
        result = {
            "steps": steps,
            "tokens_per_epoch": corpus.facts["splits"]["train"]["tokens"],
            "epochs": steps / learner.steps_per_epoch,
            "seconds": loop.seconds,
            "device": _device_name(device),
            "processes": everyone.size,
        }
        try:
            evaluation = evaluate_held_out(language_model(parts), corpus, line)
            checkpoint = trained_checkpoint(parts, name or run_folder.name, start=start)
            result["held_out"] = None if evaluation is None else asdict(evaluation)
            model_folder = run_folder / MODEL_FOLDER
            _write_model(checkpoint, model_folder, run_folder, settings, corpus, result)
        except KeyboardInterrupt:
            # Training is done and saved; what is left is done when the command is given again.
            ending, evaluation, model_folder = "stopped", None, None
    line.clear()
    return Outcome(
        ending=ending,
        step=loop.step,
        steps=steps,
        seconds=time.monotonic() - started,
        model=model_folder,
        evaluation=evaluation,
    )


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


def trained_checkpoint(parts: Parts, name: str, *, start: Checkpoint | None = None) -> Checkpoint:
    """Give the model as formats write it; ``start`` is the one it went on from.

    A model that has often begun anew knows zeros best, so they are its start state.
    """
    objective, settings = parts.objective, parts.settings
    tensors: dict[str, Tensor] = {
        **objective.bilm.state_dict(),
        "softmax.weight": objective.softmax.weight,
        "softmax.bias": objective.softmax.bias,
    }
    if settings.document_resets or settings.sentence_resets:
        shapes = start_state_tensors(parts.config)
        tensors.update({part: torch.zeros(shape) for part, shape in shapes.items()})
    return Checkpoint(
        config=parts.config,
        tensors={n: t.detach().to("cpu", torch.float32).contiguous() for n, t in tensors.items()},
        vocabulary=parts.vocabulary,
        characters=None if start is None else start.characters,
        metadata={**({} if start is None else start.metadata), "name": name},
    )


def language_model(parts: Parts) -> LanguageModel:
    """Give the trained modules as something that predicts."""
    return LanguageModel(
        runner=Runner(parts.objective.bilm.eval(), indexer=parts.indexer, marks=parts.config.marks),
        softmax=parts.objective.softmax,
        vocabulary=parts.vocabulary,
    )


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
    parts: Parts, corpus: PreparedCorpus, start: Checkpoint | None, vectors: Path | None
) -> dict[str, Any]:
    """Gather what a checkpoint must agree with to be gone on from."""
    facts = {
        "model": parts.config.to_dict(),
        "settings": parts.settings.to_dict(),
        "corpus": corpus.identity(),
        "begun_from": None if start is None else start.metadata.get("name", ""),
        "vectors": None if vectors is None else sha256_of(vectors),
    }
    plain: dict[str, Any] = json.loads(json.dumps(facts))
    return plain


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
