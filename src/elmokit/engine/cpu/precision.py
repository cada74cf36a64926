"""Which precision pays: a narrow one only where it is faster than a wider one."""

from elmokit.engine.cpu.tiles import has_fast_bfloat16
from elmokit.nn.bilm import BiLM
from elmokit.nn.projected_lstm import ProjectedLSTM

# Rows are made narrow at every step, which costs more than small products of 8 bits save. So many
# weights of a step (cell 1024, projection 128; cell 2048, projection 256) are where they began to
# be faster than float32 and than bfloat16, for 32 sentences at a time.
LEAST_BESIDE_FLOAT32 = 5 * 1024 * 128
LEAST_BESIDE_BFLOAT16 = 5 * 2048 * 256


def worthwhile(dtype: str, bilm: BiLM) -> str:
    """Give the type to compute a biLM in where ``dtype`` was asked for."""
    narrow = "bfloat16" if has_fast_bfloat16() else "float32"
    if dtype == "bfloat16":
        return narrow
    least = LEAST_BESIDE_BFLOAT16 if narrow == "bfloat16" else LEAST_BESIDE_FLOAT32
    return narrow if dtype == "int8" and step_weights(bilm) < least else dtype


def step_weights(bilm: BiLM) -> int:
    """Count the weights that a layer in one direction reads at every step."""
    layer = bilm.forward_lstm.layers[0]
    assert isinstance(layer, ProjectedLSTM)
    weights = (layer.recurrent_weight, layer.projection_weight)
    return sum(weight.numel() for weight in weights if weight is not None)
