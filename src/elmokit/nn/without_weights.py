"""Making modules whose weights come from elsewhere, without filling them first."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode


@contextmanager
def without_weights() -> Iterator[None]:
    """Give modules that are made here tensors without storage."""
    with torch.device("meta"), _NoNormal():
        yield


class _NoNormal(TorchFunctionMode):
    # To draw normal numbers into a tensor without storage, torch imports its compiler.
    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: object,
        arguments: tuple[Any, ...] = (),
        keywords: dict[str, Any] | None = None,
    ) -> Any:
        del types
        keywords = keywords or {}
        if function is nn.init.normal_:
            return keywords["tensor"]
        return function(*arguments, **keywords)
