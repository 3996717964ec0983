"""Label Studio's JSON: tasks with data and annotations, and JSON-MIN, where regions stand beside the text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from reprlib import repr as short_repr
from typing import Any

from pipeline.data.formats.tagging.form import Notes
from pipeline.data.formats.tagging.marked import Marked, entry, object_of, text_of, without
from pipeline.errors import DataError

_ANNOTATIONS = ("annotations", "completions")
"""The second in files of old versions."""


def is_label_studio(value: object) -> bool:
    """Tell a task by its data and annotations, and a row of JSON-MIN by its regions."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("data"), dict):
        return any(isinstance(value.get(key), list) for key in (*_ANNOTATIONS, "predictions"))
    return any(_is_region(found) for key in value for found in _first(value[key]))


def parse_label_studio(value: object, *, labelled: bool, notes: Notes) -> list[Marked]:
    """Return the text of a task; none of one that nobody annotated, where labels are wanted. See ``marked.Parse``."""
    row = object_of(value)
    if not isinstance(row.get("data"), dict):
        return [_minimal(row, labelled=labelled, notes=notes)]
    text = _task_text(row["data"])
    beside = {"id": row["id"]} if "id" in row else {}
    if not labelled:
        return [Marked(text, beside=beside)]
    results = [result for key in _ANNOTATIONS for result in _results(row, key)]
    if not results:
        notes.lost["tasks without an annotation"] += 1
        return []
    if len(results) > 1:
        notes.lost["annotations of tasks that have several (the first is read)"] += len(results) - 1
    return [Marked(text, list(_of_result(text, results[0], notes)), beside)]


def region_entries(text: str, region: object, *, key: str) -> Iterator[dict[str, Any]]:
    """Yield the entries of a region ``{"start", "end", "text", "labels"}``, one for each label.

    Its offsets count as JavaScript does, where a character beyond the basic plane (an emoji) is two: such a reading is
    taken where it gives the region's own text, and the usual one does not.

    Raises:
        DataError: it is none; the message is the reason, without file and line.
    """
    labels = region.get("labels") if isinstance(region, dict) else None
    if not (isinstance(region, dict) and isinstance(labels, list) and labels):
        raise DataError(f"{key} holds {short_repr(region)}, want start, end and labels")
    start, stop, name = (region.get(part) for part in ("start", "end", "text"))
    if type(start) is int and type(stop) is int and isinstance(name, str) and text[max(0, start) : stop] != name:
        start, stop = _from_code_units(text, start, stop, name)
    for label in labels:
        if not isinstance(label, str):
            raise DataError(f"{key} holds {short_repr(region)}, want start, end and labels")
        yield entry(start, stop, label, name)


def _minimal(row: dict[str, Any], *, labelled: bool, notes: Notes) -> Marked:
    keys = [key for key in row if any(_is_region(found) for found in _first(row[key]))]
    text = text_of(row, "text")
    beside = without(row, "text", "label", *keys)
    if not labelled:
        return Marked(text, beside=beside)
    return Marked(
        text, [found for key in keys for region in row[key] for found in region_entries(text, region, key=key)], beside
    )


def _task_text(data: Mapping[str, Any]) -> str:
    texts = [key for key, value in data.items() if isinstance(value, str)]
    if "text" in texts or len(texts) != 1:
        return text_of(data, "text")
    return str(data[texts[0]])


def _results(row: Mapping[str, Any], key: str) -> Iterator[list[Any]]:
    """Yield what each annotation marks; those that were cancelled count as none."""
    annotations = row.get(key)
    for annotation in annotations if isinstance(annotations, list) else []:
        result = annotation.get("result") if isinstance(annotation, dict) else None
        if not isinstance(result, list):
            raise DataError(f"{key} holds {short_repr(annotation)}, want an object with a result")
        if not annotation.get("was_cancelled"):
            yield result


def _of_result(text: str, result: list[Any], notes: Notes) -> Iterator[dict[str, Any]]:
    for found in result:
        region = found.get("value") if isinstance(found, dict) else None
        kind = str(found.get("type", "region")) if isinstance(found, dict) else "region"
        if isinstance(region, dict) and "labels" in region:
            yield from region_entries(text, region, key="result")
        elif kind == "labels":
            notes.lost["regions without a label"] += 1
        else:
            notes.unread[{"relation": "relations", "choices": "choices"}.get(kind, f"results of type {kind}")] += 1


def _from_code_units(text: str, start: int, stop: int, name: str) -> tuple[int, int]:
    """Return offsets that count UTF-16 code units as characters, if so they give the name; else as they are."""
    units = text.encode("utf-16-le", "surrogatepass")
    if not 0 <= start < stop or units[2 * start : 2 * stop] != name.encode("utf-16-le", "surrogatepass"):
        return start, stop
    first = len(units[: 2 * start].decode("utf-16-le", "surrogatepass"))
    return first, first + len(name)


def _first(value: object) -> list[Any]:
    return value[:1] if isinstance(value, list) else []


def _is_region(value: object) -> bool:
    return isinstance(value, dict) and "start" in value and "end" in value and isinstance(value.get("labels"), list)
