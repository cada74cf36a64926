"""The names of AllenNLP 0.9, so that old code changes one import.

    from elmokit.compat.allennlp import Elmo, ElmoEmbedder, batch_to_ids

Signatures, shapes, types and numbers are AllenNLP's, but for one thing: no state is carried from
call to call, so every call gives what AllenNLP gives for its first. ``start="carry"`` carries it.
docs/migrating.md has the rest.
"""

from elmokit.compat.allennlp_bilm import ElmoBiLm as _ElmoBiLm
from elmokit.compat.allennlp_elmo import Elmo
from elmokit.compat.allennlp_embedder import ElmoEmbedder
from elmokit.compat.allennlp_ids import batch_to_ids
from elmokit.compat.allennlp_mix import ScalarMix

__all__ = ["Elmo", "ElmoEmbedder", "ScalarMix", "_ElmoBiLm", "batch_to_ids"]
