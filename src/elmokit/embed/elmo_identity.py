"""Telling biLMs apart by their weights."""

import hashlib

import torch

from elmokit.embed.elmo import Elmo


def elmo_identity(elmo: Elmo) -> str:
    """Give a digest of a biLM's weights."""
    digest = hashlib.sha256()
    for name, tensor in sorted(elmo.bilm.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().to("cpu", torch.float32).contiguous().numpy().tobytes())
    return digest.hexdigest()
