"""A network converted once for OpenVINO: it predicts without torch, on the processor, at the speed that it allows.

The package is optional. Its converter is called below the command of the same name, which would report its use to the
makers of the package.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.artifacts import publish
from pipeline.errors import ArtifactError, ConfigError

if TYPE_CHECKING:
    from torch import Tensor, nn

logger = logging.getLogger(__name__)

PACKAGE = "openvino"
REQUIREMENTS = "requirements-engine.txt"
NETWORK, WEIGHTS = "engine.xml", "engine.bin"
"""Names in the folder of a model."""
GPU = Path("/dev/nvidiactl")
"""Is there where torch would find a GPU; to ask torch takes seconds."""
TOLERANCE = 1e-3
"""Most that an output may differ from torch's on the example by which the network is converted."""


def may_convert(engine: str) -> bool:
    """Tell whether a network that was trained is to be converted: unless ``torch`` is asked for, where that can be.

    Raises:
        ConfigError: ``openvino`` is asked for, but is not installed.
    """
    there = find_spec(PACKAGE) is not None
    if engine == PACKAGE and not there:
        raise ConfigError("engine.encoder=openvino: it is not installed", hint=f"pip install -r {REQUIREMENTS}")
    return there and engine != "torch"


def answers(engine: str, folder: Path) -> bool:
    """Tell whether the converted network in a model's folder is to answer.

    Args:
        engine: ``auto`` takes it where there is one, OpenVINO is installed and there is no GPU.
        folder: of the model.

    Raises:
        ConfigError: ``openvino`` is asked for, but is not installed.
    """
    if not may_convert(engine):
        return False
    if not ((folder / NETWORK).is_file() and (folder / WEIGHTS).is_file()):
        if engine == PACKAGE:
            logger.warning("%s: holds no network for OpenVINO, torch answers", folder)
        return False
    return engine == PACKAGE or not GPU.exists()


def discard(folder: Path) -> None:
    """Remove a converted network: the model beside it has changed."""
    for name in (NETWORK, WEIGHTS):
        (folder / name).unlink(missing_ok=True)


def convert(network: nn.Module, example: Mapping[str, Tensor], folder: Path) -> bool:
    """Write a network for OpenVINO into the folder of its model, in full precision.

    Args:
        network: maps tensors, by these names, to a tensor or a tuple of tensors; in evaluation mode.
        example: an input. No size of it is kept: batches of any shape can be read.
        folder: where it is written.

    Returns:
        Whether it could be converted. A warning says why not; torch answers then.
    """
    import torch
    from openvino import save_model
    from openvino.frontend import FrontEndManager
    from openvino.frontend.pytorch.ts_decoder import TorchScriptPythonDecoder

    try:
        with torch.inference_mode(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the tracer's, on shapes that are constants: they are compared below
            decoder = TorchScriptPythonDecoder(network, example_input=dict(example))
            frontend = FrontEndManager().load_by_framework("pytorch")
            model = frontend.convert(frontend.load(decoder))
        with TemporaryDirectory(dir=folder, prefix=".engine-") as temporary:
            path = Path(temporary) / NETWORK
            save_model(model, path, compress_to_fp16=False)
            _compare(network, example, path)
            for name in (WEIGHTS, NETWORK):  # the one that is looked for comes last
                publish(Path(temporary) / name, folder / name)
    except Exception as error:  # whatever the tracer and the converter raise on a network that they do not know
        reason = " ".join(str(error).split())[:200]
        logger.warning("the network cannot be converted for OpenVINO, torch will answer: %s", reason)
        return False
    return True


class ConvertedNetwork:
    """A converted network at work.

    Args:
        folder: of the model.
        threads: of the processor.
        may_round: whether products may be done in bf16, where the processor is fast at it.

    Raises:
        ArtifactError: the files are missing or damaged.
    """

    def __init__(self, folder: Path, *, threads: int, may_round: bool) -> None:
        self._request = _compiled(folder / NETWORK, threads=threads, may_round=may_round)
        self._names = [port.any_name for port in self._request.model_inputs]

    def __call__(self, **inputs: np.ndarray) -> list[np.ndarray]:
        """Return the outputs; inputs that the network does not look at are left out."""
        results = self._request.infer({name: inputs[name] for name in self._names}, share_inputs=True)
        return [np.array(value) for value in results.to_tuple()]


def _compiled(path: Path, *, threads: int, may_round: bool) -> Any:
    from openvino import Core

    core = Core()
    rounds = may_round and "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    options = {
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "bf16" if rounds else "f32",
        "PERFORMANCE_HINT": "LATENCY",
    }
    try:
        return core.compile_model(str(path), "CPU", options).create_infer_request()
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:200]
        raise ArtifactError(f"{path}: cannot be read by OpenVINO ({reason})", hint="train again") from error


def _compare(network: nn.Module, example: Mapping[str, Tensor], path: Path) -> None:
    """Raise a ValueError where the converted network says something else than torch's."""
    import torch

    request = _compiled(path, threads=1, may_round=False)
    shorter = {name: value[:1, : value.shape[1] // 2].contiguous() for name, value in example.items()}
    for inputs in (example, shorter):  # another shape: nothing of the first may have become a constant
        with torch.inference_mode():
            wanted = network(**inputs)
        names = [port.any_name for port in request.model_inputs]
        found = request.infer({name: inputs[name].numpy() for name in names}).to_tuple()
        for ours, theirs in zip(wanted if isinstance(wanted, tuple) else (wanted,), found, strict=True):
            if ours.shape != theirs.shape or not np.allclose(ours.numpy(), theirs, atol=TOLERANCE, rtol=TOLERANCE):
                raise ValueError("its outputs are not those of torch")
