"""spaCy 3: the pipe ``elmo`` and the layer ``elmokit.ElmoTok2Vec.v1``.

Importing this module registers both; where elmokit is installed spaCy finds them by itself.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from elmokit.embed.elmo import Elmo
from elmokit.embed.layer_choice import Layers, Vectors
from elmokit.errors import InputError, MissingExtraError
from elmokit.files import exists, read_json, write_json
from elmokit.integrations.loaded_models import LoadedModel, loaded_model
from elmokit.integrations.spacy_vectors import ContextVectors, doc_vectors
from elmokit.pretrained import bundled_name

try:
    from spacy.language import Language
    from spacy.pipeline import Pipe
    from spacy.tokens import Doc
    from spacy.util import registry
    from srsly import msgpack_dumps, msgpack_loads  # type: ignore[import-untyped]
    from thinc.api import Model
except ImportError as error:
    raise MissingExtraError("spacy", "spacy", "a spaCy pipeline with ELMo") from error

MOST_TOKENS_PER_BATCH = 32_768
FACTS_FILE, MODEL_FOLDER = "elmo.json", "model"


class Settings(NamedTuple):
    """What decides on the vectors of a Doc, as it stands in a pipeline's config."""

    model: str | None
    layers: Layers
    by_sentence: bool
    device: str
    dtype: str

    def loaded(self, expected: str | None) -> LoadedModel:
        """Give the model; one with other weights than ``expected`` is an error."""
        return loaded_model(self.model, device=self.device, dtype=self.dtype, expected=expected)

    def vectors(self, loaded: LoadedModel, docs: Sequence[Doc]) -> list[Vectors]:
        """Give (n, D) for each Doc."""
        if isinstance(self.layers, str) and self.layers == "all":
            raise InputError("layers: expected a choice of one vector per token, found 'all'")
        with loaded.computing() as elmo:
            return doc_vectors(elmo, docs, layers=self.layers, by_sentence=self.by_sentence)

    def key(self) -> tuple[object, ...]:
        """Give what must agree, beside the weights, for vectors to be used again."""
        layers = self.layers if isinstance(self.layers, str | int) else tuple(self.layers)
        return (layers, self.by_sentence, self.dtype)


DEFAULTS: dict[str, Any] = {
    "model": None, "layers": "average", "by_sentence": True, "device": "auto", "dtype": "float32",
}  # fmt: skip


@Language.factory("elmo", default_config=DEFAULTS, assigns=["doc.tensor", "token.vector"])
def make_elmo(
    nlp: Language,
    name: str,
    model: str | None,
    layers: Any,
    by_sentence: bool,
    device: str,
    dtype: str,
) -> "ElmoPipe":
    """Make the pipe from a pipeline's config."""
    del nlp
    return ElmoPipe(name, Settings(model, layers, by_sentence, device, dtype))


class ElmoPipe(Pipe):
    """Fills ``Doc.tensor`` (n, D), and from it the vectors and similarities of all parts.

    Where sentence bounds are known each sentence is read by itself (``by_sentence``). The model
    is loaded when it is first needed. A saved pipeline refers to a bundled model by its name and
    a digest of its weights; any other model is stored inside it.
    """

    def __init__(self, name: str, settings: Settings) -> None:
        self.name = name
        self.settings = settings
        self._loaded: LoadedModel | None = None

    @property
    def elmo(self) -> Elmo:
        """The model."""
        return self._model().elmo

    def __call__(self, doc: Doc) -> Doc:
        """Give a Doc its vectors."""
        self._fill([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Give many their vectors, up to ``batch_size`` at a time."""
        handle_error = self.get_error_handler()
        for docs in _batches(stream, batch_size):
            try:
                self._fill(docs)
            except Exception as error:
                handle_error(self.name, self, docs, error)
                continue
            yield from docs

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write which model is meant, and the model itself if it does not come with elmokit."""
        del exclude
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        loaded = self._model()
        if bundled_name(self.settings.model) is None:
            loaded.elmo.save(folder / MODEL_FOLDER, overwrite=True)
        write_json(folder / FACTS_FILE, {"identity": loaded.identity})

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "ElmoPipe":
        """Load the stored model, or the one that is named if its weights are still the same."""
        del exclude
        folder = Path(path)
        identity = str(read_json(folder / FACTS_FILE).get("identity"))
        settings = self.settings
        if exists(folder / MODEL_FOLDER):
            settings = settings._replace(model=str(folder / MODEL_FOLDER))
        self._loaded = settings.loaded(identity)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Give the files of `to_disk` as one string of bytes."""
        with TemporaryDirectory(prefix="elmokit-") as folder:
            self.to_disk(folder, exclude=exclude)
            files = [file for file in Path(folder).rglob("*") if file.is_file()]
            content = {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}
        packed: bytes = msgpack_dumps(content)
        return packed

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "ElmoPipe":
        """Load what `to_bytes` gave."""
        with TemporaryDirectory(prefix="elmokit-") as folder:
            for name, content in msgpack_loads(data).items():
                file = Path(folder, *Path(name).parts[-2:])
                file.parent.mkdir(exist_ok=True)
                file.write_bytes(content)
            return self.from_disk(folder, exclude=exclude)

    def __reduce__(self) -> tuple[Callable[..., "ElmoPipe"], tuple[Any, ...]]:
        return _unpickled, (self.name, self.settings, self.to_bytes())

    def _fill(self, docs: Sequence[Doc]) -> None:
        loaded = self._model()
        for doc, tensor in zip(docs, self.settings.vectors(loaded, docs), strict=True):
            ContextVectors.attach(
                doc, tensor, identity=loaded.identity, settings=self.settings.key()
            )

    def _model(self) -> LoadedModel:
        if self._loaded is None:
            self._loaded = self.settings.loaded(None)
        return self._loaded


def _batches(stream: Iterable[Doc], most_docs: int) -> Iterator[list[Doc]]:
    """Cut a stream by tokens too: spaCy's usual thousand Docs may be a whole library."""
    batch: list[Doc] = []
    tokens = 0
    for doc in stream:
        batch.append(doc)
        tokens += len(doc)
        if len(batch) >= most_docs or tokens >= MOST_TOKENS_PER_BATCH:
            yield batch
            batch, tokens = [], 0
    if batch:
        yield batch


def _unpickled(name: str, settings: Settings, data: bytes) -> ElmoPipe:
    return ElmoPipe(name, settings).from_bytes(data)


@registry.architectures("elmokit.ElmoTok2Vec.v1")  # type: ignore[untyped-decorator]
def elmo_tok2vec(
    model: str | None = None,
    layers: Any = "average",
    by_sentence: bool = True,
    device: str = "auto",
    dtype: str = "float32",
) -> Model[list[Doc], list[Any]]:
    """Make a frozen tok2vec for components of spaCy that learn, such as ``ner`` and ``textcat``.

    It takes over the vectors of a Doc that an ``elmo`` pipe with the same settings has filled,
    and runs the model for any other Doc. A saved component names the model and holds a digest of
    its weights, never the weights.
    """
    settings = Settings(model, layers, by_sentence, device, dtype)
    return Model(
        "elmo_tok2vec",
        partial(_forward, settings),
        init=partial(_initialise, settings),
        dims={"nO": None},
        attrs={"identity": ""},
    )


def _initialise(settings: Settings, model: Model[Any, Any], X: Any = None, Y: Any = None) -> None:  # noqa: N803
    del X, Y
    loaded = settings.loaded(model.attrs["identity"] or None)
    model.attrs["identity"] = loaded.identity
    model.set_dim("nO", loaded.elmo.dim)


def _forward(
    settings: Settings, model: Model[Any, Any], docs: Sequence[Doc], is_train: bool
) -> tuple[list[Any], Callable[[Any], list[Any]]]:
    del is_train
    if not model.attrs["identity"]:
        _initialise(settings, model)
    wanted = (model.attrs["identity"], settings.key())
    vectors: dict[int, Any] = {}
    for place, doc in enumerate(docs):
        found = ContextVectors.of(doc)
        if found is not None and (found.identity, found.settings) == wanted:
            vectors[place] = doc.tensor
    missing = [place for place in range(len(docs)) if place not in vectors]
    if missing:
        loaded = settings.loaded(model.attrs["identity"])
        computed = settings.vectors(loaded, [docs[place] for place in missing])
        vectors.update(zip(missing, computed, strict=True))
    return [model.ops.asarray2f(vectors[place]) for place in range(len(docs))], _no_gradient


def _no_gradient(gradient: Any) -> list[Any]:
    """Stop here: the model is frozen."""
    del gradient
    return []
