"""Models in the layout of the Hugging Face Hub, and models on it.

A folder of the native format is what the Hub expects, but for a README.md with a header. So
fetching and uploading is all that is left to do, by `huggingface_hub`.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from elmokit.embed.hub_card import hub_card
from elmokit.embed.start_state import Start
from elmokit.embed.word_cache_file import FILE_NAME as WORD_CACHE
from elmokit.errors import ElmoError, FormatError, InputError, MissingExtraError, one_line
from elmokit.files import exists, replacing_file, write_text
from elmokit.formats import native
from elmokit.formats.checkpoint import MODEL_FILES, Checkpoint
from elmokit.formats.storage import checked_storage
from elmokit.pretrained import bundled_name
from elmokit.version import __version__

if TYPE_CHECKING:
    from elmokit.embed.elmo import Elmo

README_FILE = "README.md"
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
# Of an older model in the same place these would not fit the new one.
REPLACED_FILES = (
    native.SOFTMAX_FILE,
    native.VOCABULARY_FILE,
    native.CHARACTERS_FILE,
    WORD_CACHE,
)


def save_pretrained(
    elmo: "Elmo",
    folder: str | Path,
    *,
    overwrite: bool = False,
    storage: str = "float32",
    softmax: bool = True,
    readme: str | None = None,
) -> Path:
    """Write the whole model in the layout of the Hugging Face Hub and give its folder.

    That is a native folder with a README.md, made here unless ``readme`` has its text. ``storage``
    makes files smaller, as in `elmokit.convert`; ``softmax=False`` leaves out what scoring needs
    and vectors do without.
    """
    folder = Path(folder)
    _write(
        elmo.checkpoint(softmax=softmax),
        folder,
        overwrite=overwrite,
        storage=storage,
        readme=readme,
        address=folder.name,
    )
    return folder


def _write(
    checkpoint: Checkpoint,
    folder: Path,
    *,
    overwrite: bool,
    storage: str,
    readme: str | None,
    address: str,
) -> None:
    """Write folder and README; ``address`` is what people will load the model by."""
    card = readme if readme is not None else hub_card(checkpoint, address=address)
    if not isinstance(card, str):
        raise InputError(f"readme: expected the text of a README, found {readme!r}")
    native.write(checkpoint, folder, overwrite=overwrite, storage=checked_storage(storage))
    with replacing_file(folder / README_FILE) as partial:
        write_text(partial, card)


def from_pretrained(
    name: str | Path,
    *,
    revision: str | None = None,
    token: str | bool | None = None,
    cache_dir: str | Path | None = None,
    local_files_only: bool = False,
    force_download: bool = False,
    softmax: bool = True,
    device: str = "auto",
    dtype: str = "float32",
    start: Start = "warm",
) -> "Elmo":
    """Load a model from a folder, by a bundled name, or by ``org/name`` from the Hub.

    ``revision`` is a branch, a tag or a commit, ``token`` one of the Hub's for models that are
    not public. What was fetched once is in the cache; ``local_files_only`` asks nobody, and
    ``force_download`` fetches again. ``device``, ``dtype`` and ``start`` are `elmokit.load`'s.
    """
    from elmokit.embed.load import load

    if bundled_name(name) is not None or exists(Path(name)):
        return load(name, device=device, dtype=dtype, start=start)
    if not isinstance(name, str) or not HUB_NAME.fullmatch(name):
        raise InputError(
            "name: expected a folder that is there, a bundled name, or org/name of the Hub, found "
            f"{str(name)!r}"
        )
    folder = fetch(
        name,
        revision=revision,
        token=token,
        cache_dir=cache_dir,
        local_files_only=local_files_only,
        force_download=force_download,
        softmax=softmax,
    )
    try:
        return load(folder, device=device, dtype=dtype, start=start)
    except FormatError as error:
        raise FormatError(
            error.file,
            error.problem,
            key=error.key,
            found=error.found,
            expected=error.expected,
            hint=f"this is what came from {name!r}: fetch it again (force_download=True), and "
            "tell its owner if that does not help",
        ) from error


def fetch(
    name: str,
    *,
    revision: str | None = None,
    token: str | bool | None = None,
    cache_dir: str | Path | None = None,
    local_files_only: bool = False,
    force_download: bool = False,
    softmax: bool = True,
) -> Path:
    """Get the files of a model of the Hub and give the folder that they are in.

    What is in the cache is not fetched again. ``softmax=False`` leaves out the file that vectors
    do without.
    """
    hub = load_huggingface_hub()
    with _explained(name, revision):
        folder: str = hub.snapshot_download(
            name,
            revision=revision,
            token=token,
            cache_dir=cache_dir,
            local_files_only=local_files_only,
            force_download=force_download,
            allow_patterns=list(MODEL_FILES),
            ignore_patterns=None if softmax else [native.SOFTMAX_FILE],
            library_name="elmokit",
            library_version=__version__,
        )
    return Path(folder)


def push_to_hub(
    elmo: "Elmo",
    name: str,
    *,
    private: bool | None = None,
    token: str | bool | None = None,
    revision: str | None = None,
    commit_message: str | None = None,
    storage: str = "float32",
    softmax: bool = True,
    readme: str | None = None,
) -> str:
    """Write the model to ``org/name`` on the Hub and give the address of the commit.

    The repository is made where there is none, ``private`` or not, and a branch ``revision`` too.
    ``storage``, ``softmax`` and ``readme`` are those of `save_pretrained`.
    """
    hub = load_huggingface_hub()
    if not isinstance(name, str) or not HUB_NAME.fullmatch(name):
        raise InputError(f"name: expected org/name of the Hub, found {name!r}")
    with TemporaryDirectory(prefix="elmokit-") as temporary:
        folder = Path(temporary) / "model"
        _write(
            elmo.checkpoint(softmax=softmax),
            folder,
            overwrite=False,
            storage=storage,
            readme=readme,
            address=name,
        )
        with _explained(name, revision):
            hub.create_repo(name, token=token, private=private, exist_ok=True)
            if revision is not None:
                hub.create_branch(name, branch=revision, token=token, exist_ok=True)
            done = hub.upload_folder(
                repo_id=name,
                folder_path=folder,
                token=token,
                revision=revision,
                commit_message=commit_message or "Upload a model of elmokit",
                delete_patterns=list(REPLACED_FILES),
            )
    return str(done.commit_url)


def load_huggingface_hub() -> Any:
    """Import huggingface_hub, or say what to install."""
    try:
        import huggingface_hub
    except ImportError as error:
        raise MissingExtraError("huggingface_hub", "hub", "a model of the Hub") from error
    return huggingface_hub


@contextmanager
def _explained(name: str, revision: str | None) -> Iterator[None]:
    """Turn what goes wrong with the Hub into an error of ours that says what to do."""
    from huggingface_hub import errors

    try:
        yield
    except errors.HFValidationError as error:
        raise InputError(f"name: {name!r} is no name of the Hub ({error})") from error
    except errors.GatedRepoError as error:
        raise InputError(
            f"name: {name!r} is given after its owner's consent alone; ask for it on the Hub, then "
            "pass token="
        ) from error
    except errors.RevisionNotFoundError as error:
        raise InputError(
            f"revision: expected a branch, a tag or a commit of {name!r}, found {revision!r}"
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise InputError(
            f"name: there is no folder {name!r}, and the Hub shows no such model; check the name, "
            "and pass token= (or log in: hf auth login) if it is private"
        ) from error
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled) as error:
        raise ElmoError(
            f"{name!r} is not in the cache, and the Hub was not asked or cannot be reached; check "
            "the network, HF_HUB_OFFLINE and local_files_only, or pass a folder"
        ) from error
    except errors.HfHubHTTPError as error:
        status = getattr(error.response, "status_code", "no answer")
        remedy = ""
        if status in (401, 403):
            remedy = "; pass a token= that may do this (or log in: hf auth login)"
        raise ElmoError(
            f"{name!r}: the Hub refused ({status}: {_first_line(error)}){remedy}"
        ) from error
    except Exception as error:  # of whatever HTTP client this huggingface_hub uses
        raise ElmoError(
            f"{name!r}: the Hub cannot be reached, or its files cannot be written "
            f"({type(error).__name__}: {_first_line(error)}); local_files_only=True takes what is "
            "in the cache"
        ) from error


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return one_line(lines[0]) if lines else type(error).__name__
