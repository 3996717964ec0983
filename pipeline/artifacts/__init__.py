"""What a run leaves on disk: safe writing, the run folder with its file names, and its manifest."""

from pipeline.artifacts.carried import CarriedFiles
from pipeline.artifacts.files import (
    LONE_SURROGATE,
    atomic_write_bytes,
    atomic_write_json,
    atomic_write_text,
    atomic_writer,
    new_folder,
    output_file,
    publish,
    read_json,
    read_table,
    temporary_path,
    text_file,
    write_errors,
    write_table,
)
from pipeline.artifacts.inputs import inputs_kept, open_input, sha256_file, temporary_errors
from pipeline.artifacts.manifest import SCHEMA_VERSION, DataFile, git_state
from pipeline.artifacts.mapped import map_array, store_array
from pipeline.artifacts.naming import new_run_name, validate_run_name
from pipeline.artifacts.own_files import open_locked, open_own
from pipeline.artifacts.packed import GZIP_MAGIC, BoundedGzip, unpack_file
from pipeline.artifacts.run_folder import RunFolder
from pipeline.artifacts.runs import fetch_run, newest_run, newest_unfinished, open_run
from pipeline.artifacts.spreadsheet import plain_cell, safe_cell
from pipeline.artifacts.stages import StageTimer, stage_key
from pipeline.artifacts.stored import AnyFile, StoredFile, StoredFolder, find_files, is_pattern, open_any

__all__ = [
    "GZIP_MAGIC",
    "LONE_SURROGATE",
    "SCHEMA_VERSION",
    "AnyFile",
    "BoundedGzip",
    "CarriedFiles",
    "DataFile",
    "RunFolder",
    "StageTimer",
    "StoredFile",
    "StoredFolder",
    "atomic_write_bytes",
    "atomic_write_json",
    "atomic_write_text",
    "atomic_writer",
    "fetch_run",
    "find_files",
    "git_state",
    "inputs_kept",
    "is_pattern",
    "map_array",
    "new_folder",
    "new_run_name",
    "newest_run",
    "newest_unfinished",
    "open_any",
    "open_input",
    "open_locked",
    "open_own",
    "open_run",
    "output_file",
    "plain_cell",
    "publish",
    "read_json",
    "read_table",
    "safe_cell",
    "sha256_file",
    "stage_key",
    "store_array",
    "temporary_errors",
    "temporary_path",
    "text_file",
    "unpack_file",
    "validate_run_name",
    "write_errors",
    "write_table",
]
