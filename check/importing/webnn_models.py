"""What a test of the web platform's for WebNN says, as JSON: a graph of one operator, and its tensors."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ...cases.file_model import FIRST_WRONG, ClosedModel, FewKeys


class _Lenient(BaseModel):
    """What a test of the web platform says besides is of no account here: it tells browsers how to run it."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class Descriptor(_Lenient):
    """The shape and type of a tensor."""

    shape: Annotated[list[Annotated[int, Field(ge=1, lt=2**24)]], FIRST_WRONG, Field(max_length=8)]
    dataType: str


class Tensor(_Lenient):
    """A tensor; one number fills it."""

    data: Annotated[list[float], FIRST_WRONG] | float
    descriptor: Descriptor


class Call(_Lenient):
    """An operator of a graph."""

    name: str
    arguments: Annotated[list[dict[str, Any]], FIRST_WRONG]
    outputs: Annotated[list[str], FIRST_WRONG] | str


class Graph(_Lenient):
    """Operators, what goes in and what is expected to come out."""

    inputs: Annotated[dict[str, Tensor], FewKeys]
    operators: Annotated[list[Call], FIRST_WRONG]
    expectedOutputs: Annotated[dict[str, Tensor], FewKeys]


class Test(_Lenient):
    """A test."""

    name: str
    graph: Graph


class _Closed(ClosedModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Options(_Closed):
    """MLGruOptions and MLGruCellOptions, with their defaults."""

    label: str = ""
    bias: str | None = None
    recurrentBias: str | None = None
    initialHiddenState: str | None = None
    resetAfter: bool = True
    returnSequence: bool = False
    direction: Literal["forward", "backward", "both"] = "forward"
    layout: Literal["zrn", "rzn"] = "zrn"
    activations: Annotated[list[str], FIRST_WRONG, Field(min_length=2, max_length=2)] = Field(
        default=["sigmoid", "tanh"]
    )


class Arguments(_Closed):
    """What gru and gruCell take."""

    input: str
    weight: str
    recurrentWeight: str
    hiddenState: str | None = None
    steps: Any = None
    hiddenSize: Any
    options: Options = Options()
