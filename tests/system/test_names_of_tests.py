"""Names of tests: pytest-xdist runs nothing unless every worker collects the same ones."""

from __future__ import annotations

import gzip

import pytest

PACKED = gzip.compress(b"packed when this module was imported")
GZIP_MAGIC = "\\x1f\\x8b"


@pytest.mark.parametrize("content", [PACKED, PACKED[:-1]])
def test_bytes_are_named_by_their_length(request: pytest.FixtureRequest, content: bytes) -> None:
    assert request.node.name.endswith(f"[content-{len(content)}-bytes]")


def test_no_name_holds_packed_bytes(request: pytest.FixtureRequest) -> None:
    assert not [item.nodeid for item in request.session.items if GZIP_MAGIC in item.nodeid]
