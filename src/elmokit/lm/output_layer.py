"""The softmax of a model's files: what turns a source of vectors into a language model."""

from elmokit.errors import InputError
from elmokit.formats.checkpoint import Checkpoint
from elmokit.nn.softmax import LanguageModelSoftmax
from elmokit.nn.without_weights import without_weights
from elmokit.text.vocabulary import Vocabulary

PREFIX = "softmax."

# What to do about a softmax that is not there, by format.
_REMEDIES = {
    "bilm-hdf5": "put the hdf5 file with softmax/W and softmax/b and the vocabulary file beside "
    "the weights, or use the training checkpoint",
    "native": "convert the model anew from files that have one (elmo convert keeps it)",
    "many-langs": "models of this format are published without one",
}


def output_layer(checkpoint: Checkpoint) -> tuple[LanguageModelSoftmax, Vocabulary]:
    """Give the softmax of a checkpoint, holding its tensors, and the words that it predicts."""
    name = checkpoint.metadata.get("name", checkpoint.source_format)
    size = checkpoint.config.softmax_size
    if size is None:
        remedy = _REMEDIES.get(checkpoint.source_format, "use a model that has one")
        raise InputError(
            f"model: {name!r} has no softmax, so it gives vectors and no probabilities; {remedy}"
        )
    if checkpoint.vocabulary is None:
        raise InputError(
            f"model: {name!r} has a softmax of {size} words and no list of them; pass the "
            "vocabulary file that it was trained with (vocabulary=, --vocabulary in the shell)"
        )
    with without_weights():
        softmax = LanguageModelSoftmax(vocabulary_size=size, dim=checkpoint.config.projection_dim)
    tensors = {
        key.removeprefix(PREFIX): tensor
        for key, tensor in checkpoint.tensors.items()
        if key.startswith(PREFIX)
    }
    softmax.load_state_dict(tensors, assign=True)
    return softmax.requires_grad_(False).eval(), checkpoint.vocabulary
