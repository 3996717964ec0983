"""What is used of a pre-trained encoder, and how it is trained further: which layers, at which rates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import nn

from pipeline.errors import ConfigError


def encoder_layers(encoder: nn.Module) -> list[nn.Module]:
    """Return the layers of a transformers encoder, lowest first: the longest list of modules in it."""
    return list(layer_list(encoder))


def layer_list(encoder: nn.Module) -> nn.ModuleList:
    """Return the module that holds the layers of a transformers encoder."""
    lists = [module for module in encoder.modules() if isinstance(module, nn.ModuleList)]
    return max(lists, key=len, default=nn.ModuleList())


def keep_lowest(encoder: Any, n_layers: int, *, option: str) -> None:
    """Drop the layers above the lowest ones, in place; the encoder's configuration is changed with it.

    Args:
        encoder: a transformers encoder.
        n_layers: 0 keeps all.
        option: the option that asked for it, for the error.

    Raises:
        ConfigError: the encoder has fewer layers, or not one module a layer (ALBERT shares one).
    """
    if not n_layers:
        return
    n_all = int(encoder.config.num_hidden_layers)
    if n_layers > n_all:
        raise ConfigError(f"{option} is {n_layers}, the encoder has {n_all} layers")
    layers = layer_list(encoder)
    if len(layers) != n_all:
        raise ConfigError(f"{option} is {n_layers}, but the encoder's layers cannot be told apart")
    del layers[n_layers:]
    encoder.config.num_hidden_layers = n_layers


def freeze_lowest(encoder: nn.Module, n_layers: int, *, option: str) -> None:
    """Keep the lowest layers as they are, and all of what lies below them.

    One trained parameter down there would need the gradients of every layer.

    Args:
        encoder: a transformers encoder.
        n_layers: 0 freezes nothing, not even the embeddings.
        option: the option that asked for it, for the error.

    Raises:
        ConfigError: the encoder has fewer layers.
    """
    layers = encoder_layers(encoder)
    if n_layers > len(layers):
        raise ConfigError(f"{option} is {n_layers}, the encoder has {len(layers)} layers")
    if n_layers:
        encoder.requires_grad_(False)
        nn.ModuleList(layers[n_layers:]).requires_grad_(True)


def fine_tuning_groups(
    network: nn.Module, encoder: nn.Module, *, encoder_rate: float, rate: float, layer_decay: float
) -> list[dict[str, Any]]:
    """Return the trained parameters as groups for the optimiser: one for each depth of the encoder, one for the rest.

    Rates that fall from layer to layer: Howard and Ruder, ACL 2018, arXiv:1801.06146. Biases and layer
    normalisations are not decayed.

    Args:
        network: what is trained.
        encoder: the pre-trained part of it.
        encoder_rate: learning rate of the encoder's highest layer.
        rate: learning rate of everything outside the encoder.
        layer_decay: a layer learns at this multiple of the rate of the one above it.
    """
    layers = encoder_layers(encoder)
    depth_of = {id(p): depth for depth, layer in enumerate(layers, 1) for p in layer.parameters()}
    in_encoder = {id(parameter) for parameter in encoder.parameters()}
    groups: dict[tuple[float, bool], list[nn.Parameter]] = {}
    for parameter in _trained(network):
        its_rate = rate
        if id(parameter) in in_encoder:
            depth = depth_of.get(id(parameter), 0)  # embeddings lie below the first layer
            its_rate = encoder_rate * layer_decay ** (len(layers) - depth)
        groups.setdefault((its_rate, parameter.ndim > 1), []).append(parameter)
    return [
        {"params": members, "lr": its_rate, **({} if is_matrix else {"weight_decay": 0.0})}
        for (its_rate, is_matrix), members in groups.items()
    ]


def _trained(network: nn.Module) -> Iterator[nn.Parameter]:
    return (parameter for parameter in network.parameters() if parameter.requires_grad)
