"""Writing an ONNX graph node by node: names, constants and shapes, nothing of ELMo."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from elmokit.errors import MissingExtraError

Array = npt.NDArray[Any]


def load_onnx() -> Any:
    """Import onnx, or say what to install."""
    try:
        import onnx
    except ImportError as error:
        raise MissingExtraError("onnx", "onnx", "writing an ONNX file") from error
    return onnx


class Graph:
    """Nodes in the order they run; values are known by their names.

    A graph within another, as the body of a loop, is given the outer one as ``outer``: constants
    go there, where a runtime prepares them once.
    """

    def __init__(self, outer: "Graph | None" = None) -> None:
        self._helper = load_onnx().helper
        self._outer = outer
        self.nodes: list[Any] = []
        self.constants: dict[str, Array] = {}
        """Name -> array; those of a body are in its outer graph."""
        self._count = 0

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Append a node with one output and give the output's name."""
        return self.add_many(operator, inputs, 1, **attributes)[0]

    def add_many(
        self, operator: str, inputs: Sequence[str], outputs: int, **attributes: Any
    ) -> list[str]:
        """Append a node with several outputs and give their names."""
        names = [self.new_name(operator) for _ in range(outputs)]
        self.nodes.append(self._helper.make_node(operator, list(inputs), names, **attributes))
        return names

    def constant(self, value: Any, name: str = "constant") -> str:
        """Keep an array beside the nodes and give its name."""
        home = self._outer or self
        array = np.ascontiguousarray(value) if np.ndim(value) else np.asarray(value)
        chosen = name if name != "constant" and name not in home.constants else self.new_name(name)
        home.constants[chosen] = array
        return chosen

    def integers(self, *values: int) -> str:
        """Keep a list of whole numbers, as shapes and axes are given."""
        return self.constant(np.array(values, dtype=np.int64))

    def name(self, value: str, wanted: str) -> None:
        """Give a value the name that the outside knows it by."""
        self.nodes.append(self._helper.make_node("Identity", [value], [wanted]))

    def new_name(self, stem: str) -> str:
        """Make up a name that no other value has, in the outer graph neither."""
        if self._outer is not None:
            return self._outer.new_name(stem)
        self._count += 1
        return f"{stem}_{self._count}"

    def sizes(self, value: str, *axes: int) -> str:
        """Give some dimensions of a value as a list of whole numbers."""
        return self.add("Gather", self.add("Shape", value), self.integers(*axes))
