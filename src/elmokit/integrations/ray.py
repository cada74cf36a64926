"""Bulk embedding on Ray: the pieces of many text files, spread over the machines of a cluster.

Rows of a Ray dataset are pieces of text, and actors that hold the model turn each into a shard on
a disk that all machines see. Vectors never pass through Ray, so that what a machine's death costs
is the shards that it was making; others make them again.
"""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from elmokit.embed.device import DTYPES
from elmokit.embed.elmo import Elmo
from elmokit.embed.embed_shards import ShardsPlan, ShardsSummary, planned_shards
from elmokit.embed.layer_choice import Layers
from elmokit.embed.text_pieces import PIECE_BYTES
from elmokit.errors import ElmoError, InputError, one_line
from elmokit.integrations.ray_actor import ActorSettings, PackedModel, packed
from elmokit.integrations.ray_client import client_rows
from elmokit.integrations.ray_dataset import Shares, dataset_rows
from elmokit.integrations.ray_session import LOCAL, check_address, load_ray, ray_session


def embed_files(
    elmo: Elmo,
    sources: Sequence[str | Path],
    folder: str | Path,
    *,
    address: str = LOCAL,
    layers: Layers = "average",
    tokenised: bool = False,
    float16: bool = False,
    dtype: str | None = None,
    device: str = "auto",
    batch_tokens: int | None = None,
    shard_bytes: int = PIECE_BYTES,
    num_cpus: float = 1,
    num_gpus: float | None = None,
    concurrency: int | None = None,
    progress: bool = False,
) -> ShardsSummary:
    """Embed one sentence a line of each file, as `embed_shards` does, on a Ray cluster.

    ``elmo`` may lie on the CPU; each actor gets a copy. ``address`` is ``"local"`` for the cores
    of this machine, ``"auto"`` for the cluster it belongs to, ``"HOST:PORT"`` or
    ``"ray://HOST:PORT"``; a connection that the program has already is used as it is. All
    machines must see the files and the folder under the same path.

    An actor has ``num_cpus`` cores and ``num_gpus`` GPUs (one where the cluster has any and
    ``device`` is not ``"cpu"``), and computes in ``dtype``, by default that of ``elmo``. There
    are ``concurrency`` actors, by default as many as the cluster has room for.
    """
    load_ray()
    check_address(address)
    _check_shares(num_cpus, num_gpus, concurrency, device)
    dtype = elmo.dtype if dtype is None else dtype
    _check_dtype(dtype, _known_device(num_gpus, device))
    with planned_shards(
        elmo,
        sources,
        Path(folder),
        layers=layers,
        dtype=dtype,
        tokenised=tokenised,
        float16=float16,
        batch_tokens=batch_tokens,
        shard_bytes=shard_bytes,
        progress=progress,
    ) as plan:
        if not plan.missing:
            return plan.summary()
        model = packed(elmo.checkpoint())
        model_bytes = sum(array.nbytes for array in model[1].values())
        with ray_session(address, object_bytes=model_bytes) as ray:
            num_gpus = _gpus(ray, num_gpus, device)
            device = "cuda" if num_gpus else "cpu"
            _check_dtype(dtype, device)
            settings = ActorSettings(
                folder=str(Path(folder).absolute()),
                device=device,
                dtype=dtype,
                start=elmo.start,
                threads=max(1, int(num_cpus)),
                layers=layers,
                tokenised=tokenised,
                float16=float16,
                batch_tokens=batch_tokens,
            )
            actors = min(concurrency or _room(ray, num_cpus, num_gpus), len(plan.missing))
            _run(ray, plan, model, settings, Shares(actors, num_cpus, num_gpus))
        return plan.summary()


def _run(
    ray: Any, plan: ShardsPlan, model: PackedModel, settings: ActorSettings, shares: Shares
) -> None:
    pieces = {piece.number: piece for piece in plan.missing}
    try:
        kept = ray.put(model)
        if ray.util.client.ray.is_connected():
            rows = client_rows(ray, plan.missing, kept, settings, shares)
        else:
            rows = dataset_rows(plan.missing, kept, settings, shares)
        with closing(rows):
            for row in rows:
                if row["error"]:
                    raise InputError(one_line(row["error"]))
                plan.done(pieces[row["number"]], row["tokens"])
    except ray.exceptions.RayError as error:
        raise ElmoError(
            f"ray: the run broke off ({_last_line(error)}); the shards that are written stay, and "
            "the same command does what is missing"
        ) from error


def _check_shares(
    num_cpus: float, num_gpus: float | None, concurrency: int | None, device: str
) -> None:
    if not num_cpus > 0:
        raise InputError(f"num_cpus: expected a number above 0, found {num_cpus!r}")
    if num_gpus is not None and not num_gpus >= 0:
        raise InputError(f"num_gpus: expected 0 or more, found {num_gpus!r}")
    if concurrency is not None and concurrency < 1:
        raise InputError(f"concurrency: expected a whole number above 0, found {concurrency!r}")
    if device not in ("auto", "cpu", "cuda"):
        raise InputError(
            f"device: expected 'auto', 'cpu' or 'cuda', found {device!r}; which GPU an actor gets "
            "is Ray's choice"
        )
    if num_gpus and device == "cpu":
        raise InputError(f"num_gpus, device: a CPU needs no GPU, found {num_gpus!r} and 'cpu'")
    if num_gpus == 0 and device == "cuda":
        raise InputError("num_gpus, device: 'cuda' needs a share of a GPU, found 0")


def _known_device(num_gpus: float | None, device: str) -> str | None:
    """Say what actors compute on, as far as that is known without the cluster."""
    if num_gpus is not None:
        return "cuda" if num_gpus else "cpu"
    return None if device == "auto" else device


def _check_dtype(dtype: str, device: str | None) -> None:
    known = DTYPES[device] if device else tuple(dict.fromkeys(sum(DTYPES.values(), ())))
    if dtype not in known:
        where = f" on {device}" if device else ""
        raise InputError(f"dtype: expected one of {', '.join(known)}{where}, found {dtype!r}")


def _gpus(ray: Any, num_gpus: float | None, device: str) -> float:
    if num_gpus is not None:
        return num_gpus
    if device == "auto":
        return 1 if ray.cluster_resources().get("GPU", 0) >= 1 else 0
    return 1 if device == "cuda" else 0


def _room(ray: Any, num_cpus: float, num_gpus: float) -> int:
    """Count the actors that the machines of a cluster have room for."""
    room = 0
    for node in ray.nodes():
        if node["Alive"]:
            found = node["Resources"]
            shares = [found.get("CPU", 0) / num_cpus]
            if num_gpus:
                shares.append(found.get("GPU", 0) / num_gpus)
            room += int(min(shares))
    if not room:
        raise InputError(
            f"num_cpus, num_gpus: no machine of the cluster has {num_cpus:g} CPUs and "
            f"{num_gpus:g} GPUs; ask for less, or say by concurrency how many actors there shall "
            "be when machines have joined"
        )
    return room


def _last_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return one_line(lines[-1]) if lines else type(error).__name__
