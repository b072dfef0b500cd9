"""Where a lake is: a folder, or a prefix of a bucket; both through the same functions."""

from __future__ import annotations

import errno
import io
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import fsspec
import pyarrow as pa

from thawline.errors import MissingExtra, SourceError, ThawlineError
from thawline.outputs import replacing

__all__ = ["STAGED", "LakeError", "Place", "plain", "writing"]

STAGED = "_ingest/staged"
HADOOP = re.compile(r"^s3[an]://")
"""Hadoop's names of the scheme s3."""


class LakeError(ThawlineError):
    """A lake cannot be written or read, for example because its disk is full."""


@contextmanager
def writing() -> Iterator[None]:
    """Raise an error of writing as `LakeError`, to distinguish it from an error of reading a source file."""
    try:
        yield
    except OSError as error:
        if isinstance(error, ThawlineError) and not error.errno:
            raise  # a refusal with its own message, not an I/O error
        why = os.strerror(error.errno) if error.errno else str(error) or type(error).__name__
        raise LakeError(f"cannot be written: {why}") from error


def plain(path: str) -> str:
    """A path or URL without Hadoop's schemes.

    >>> plain("s3a://cold/logs"), plain("file:///mnt/cold")
    ('s3://cold/logs', '/mnt/cold')
    """
    return re.sub(r"^file:(//)?", "", HADOOP.sub("s3://", path))


@dataclass(frozen=True, slots=True)
class Place:
    """A folder or a prefix of a bucket. It is small, and travels to tasks."""

    root: str
    """An absolute path, or a URL, without a slash at its end."""
    form: str = "delta"
    """In which form the tables of the lake there are kept (`forms`)."""
    catalog: str = ""
    """Where tables are found that a catalog keeps: a name, or a URI."""

    @classmethod
    def of(cls, to: str | os.PathLike[str]) -> Place:
        """The place that a user names."""
        path = plain(os.fspath(to))
        return cls((path if "://" in path else str(Path(path).absolute())).rstrip("/") or "/")

    @property
    def is_remote(self) -> bool:
        """Whether it is at a URL."""
        return "://" in self.root

    def __str__(self) -> str:
        return self.root

    def uri(self, name: str) -> str:
        """The path or URL of something in it."""
        return f"{self.root}/{name}"

    @property
    def keeps_values(self) -> bool:
        """Whether files of partitioned tables have the partitioning columns, too."""
        return self.form == "iceberg"

    def staged(self, name: str) -> str:
        """Where a table file is until it is committed: where no log says what counts, it is not among the others."""
        return f"{STAGED}/{name}" if self.form == "parquet" else name

    @property
    def storage(self) -> dict[str, str] | None:
        """What delta-rs has to be told beyond the environment."""
        if not self.is_remote:
            return None
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")
        told = {"AWS_ENDPOINT_URL": endpoint} if endpoint else {}
        return told | ({"AWS_ALLOW_HTTP": "true"} if endpoint.startswith("http://") else {})

    def _files(self, name: str) -> tuple[Any, str]:
        try:
            return fsspec.url_to_fs(self.uri(name))  # type: ignore[no-any-return]
        except ImportError as error:
            scheme = self.root.partition(":")[0]
            extra = (
                "pip install 'thawline[s3]'" if scheme == "s3" else f"pip install {error.name or 'its fsspec driver'}"
            )
            raise MissingExtra(f"{self.root}: nothing installed writes {scheme}://: `{extra}`") from error

    @contextmanager
    def create(self, name: str) -> Iterator[BinaryIO]:
        """A new file to write, which is there, on the disk or in the bucket, all of it, when the block ends."""
        with writing():
            if self.is_remote:
                files, path = self._files(name)
                with files.open(path, "wb") as file:
                    yield file
                return
            path = self.uri(name)
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            own = f"{path}.{secrets.token_hex(4)}"  # another process may be writing the same, as it finishes a commit
            try:
                with open(own, "xb") as file:  # noqa: PTH123 - the name has no surprises
                    yield file
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(own, path)  # noqa: PTH105 - strings
            except BaseException:
                Path(own).unlink(missing_ok=True)
                raise
            _sync_folder(path)

    def create_whole(self, name: str, content: bytes) -> None:
        """A new small file, all of it or nothing; `FileExistsError` if another process was first."""
        files, path = self._files(name)
        if self.is_remote:
            try:
                files.pipe_file(path, content, mode="create")
            except OSError as error:
                if isinstance(error, FileExistsError) or _is_refused(error):
                    raise FileExistsError(errno.EEXIST, "is there already", path) from error
                with writing():
                    raise
            return
        with writing():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            own = f"{path}.{secrets.token_hex(4)}"
            try:
                with open(own, "xb") as file:  # noqa: PTH123 - the name has no surprises
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                try:
                    os.link(own, path)
                except FileExistsError:
                    is_first = False
                else:
                    is_first = True
            finally:
                Path(own).unlink(missing_ok=True)
            _sync_folder(path)
        if not is_first:
            raise FileExistsError(errno.EEXIST, "is there already", path)

    def move(self, name: str, to: str) -> None:
        """Give a file another name; it may have it already."""
        files, path = self._files(name)
        _, target = self._files(to)
        with writing():
            try:
                if self.is_remote:
                    files.invalidate_cache()
                    files.copy(path, target)
                    files.rm_file(path)
                    return
                Path(target).parent.mkdir(parents=True, exist_ok=True)
                os.replace(path, target)  # noqa: PTH105 - strings
            except FileNotFoundError:
                if not files.exists(target):
                    raise
                return
            _sync_folder(target)

    def put(self, name: str, content: bytes) -> None:
        """Write a small file, in the place of an earlier one; readers see the old or the new one, never a part."""
        if self.is_remote:  # an object appears when it is complete
            with self.create(name) as file:
                file.write(content)
            return
        with writing(), replacing(Path(self.uri(name)), overwrite=True) as file:
            file.write(content)

    def open(self, name: str) -> BinaryIO:
        """A file to read, at any position."""
        files, path = self._files(name)
        opened: BinaryIO = files.open(path, "rb")
        return opened

    def read(self, name: str) -> bytes:
        """The content of a small file; `FileNotFoundError` if there is none."""
        files, path = self._files(name)
        if self.is_remote:
            files.invalidate_cache()
        with io.BytesIO() as kept, files.open(path, "rb") as file:
            kept.write(file.read())
            return kept.getvalue()

    def remove(self, name: str) -> None:
        """Remove a file, if it is there and may be removed."""
        files, path = self._files(name)
        with suppress(OSError):
            files.rm_file(path)

    def exists(self, name: str) -> bool:
        """Whether there is a file or folder."""
        if not self.is_remote:
            return Path(self.uri(name)).exists()
        files, path = self._files(name)
        files.invalidate_cache()
        return bool(files.exists(path))

    def listed(self, name: str) -> list[str]:
        """The names in a folder; none if there is no such folder."""
        files, path = self._files(name)
        try:
            found = files.ls(path, detail=False, **({"refresh": True} if self.is_remote else {}))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise SourceError(error.errno, f"{self.uri(name)}: cannot be listed: {error.strerror}") from error
        return sorted(last for one in found if (last := one.rstrip("/").rpartition("/")[2]) and one.rstrip("/") != path)

    def below(self, name: str) -> Iterator[tuple[str, int, datetime]]:
        """Every file below a folder, relative to it, with its size and when it was written."""
        files, path = self._files(name)
        if self.is_remote:
            files.invalidate_cache()
        prefix = path.rstrip("/") + "/"
        for found, facts in files.find(path, detail=True).items():
            yield found.removeprefix(prefix), int(facts["size"]), _written_at(facts)


def _written_at(facts: dict[str, Any]) -> datetime:
    """When a file was written, as drivers have it in their own ways; long ago if they do not say."""
    for name in ("LastModified", "last_modified", "mtime", "updated"):
        found = facts.get(name)
        if isinstance(found, int | float):
            return datetime.fromtimestamp(found, UTC)
        if isinstance(found, str):
            found = datetime.fromisoformat(found)
        if isinstance(found, datetime):
            return found if found.tzinfo else found.replace(tzinfo=UTC)
    return datetime.fromtimestamp(0, UTC)


def _is_refused(error: OSError) -> bool:
    """Whether a bucket refuses to create an object because it is there; drivers say so in their own ways."""
    return any(word in str(error) for word in ("PreconditionFailed", "pre-conditions", "conditionNotMet", "412"))


def _sync_folder(path: str) -> None:
    """Flush the entry of a file in its folder to the disk."""
    descriptor = os.open(os.path.dirname(path), os.O_RDONLY)  # noqa: PTH120 - a string in, a string out
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def parquet_reader(place: Place, name: str, repeated: str = "") -> Any:
    """A reader of a Parquet file; it gives a column of repeated text as a dictionary and numbers."""
    from pyarrow import parquet  # noqa: PLC0415 - slow to import

    return parquet.ParquetFile(pa.PythonFile(place.open(name), "r"), read_dictionary=[repeated] if repeated else None)
