"""Embeddings by a service that speaks as OpenAI does: ``POST /embeddings`` with a model and texts.

The key is read from the environment only. Texts are sent in batches, a few in parallel; temporary failures (429, 5xx,
no response) are retried with increasing waits. Rows are kept on disk like those of encoders
here, so that a text is paid for once.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError, DesignError

OPENAI = "https://api.openai.com/v1"
MOST_TRIES = 6
"""Calls of one batch: with waits of 1, 2, 4, 8 and 16 seconds a service that is busy for half a minute is outlasted."""
LONGEST_WAIT = 60.0
"""Largest wait in seconds, also if a service requests more."""
AT_ONCE = 4
"""Calls that are on their way together: services limit tokens a minute, not connections."""
TIMEOUT = 120.0
"""Seconds for the reply to one call, which holds the vectors of a whole batch."""
BYTES_OF_TOKEN = 2
"""Bytes of a piece of text for each token that the model reads: English has four a token, others three or more."""
SAID = 200
"""Characters of a service's message in an error."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A key goes to the address that was given and to no other."""

    def redirect_request(self, *args: Any, **named: Any) -> None:
        """Refuse."""
        return


@dataclass(frozen=True)
class ApiEncoder:
    """A model behind an OpenAI-compatible service.

    Attributes
    ----------
    model : str
        As the service calls it.
    url : str
        Up to ``/embeddings``, which is added.
    key_name : str
        The environment variable that holds the key; ``none`` for a service that asks for none.
    dimensions : int or None
        Dimensions of a row, if the model has options.
    batch : int
        Texts of one call.
    context : int
        Tokens that the model reads; longer texts go in pieces.
    first_wait : float
        Seconds before the second call of a batch; each further wait is twice as long.
    """

    model: str
    url: str = OPENAI
    key_name: str = field(default="OPENAI_API_KEY", compare=False)
    dimensions: int | None = None
    batch: int = field(default=64, compare=False)
    context: int = 8191
    first_wait: float = field(default=1.0, compare=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise DesignError(f"url={self.url} is no address; give one such as {OPENAI}")
        if parts.username or parts.password or parts.query:
            raise DesignError("an address holds no key; name the environment variable that does with key=NAME")
        if not self.key_name.replace("_", "").isalnum() or self.key_name.startswith("sk-"):
            raise DesignError("key=... names the environment variable that holds the key; it is no key itself")
        if parts.scheme == "http" and not self._is_local and self.key_name != "none":
            raise DesignError(f"a key would go to {parts.hostname} for all to read; give an address with https")

    @property
    def name(self) -> str:
        """The model's."""
        return self.model

    @property
    def key(self) -> str:
        """What rows are kept by: the address, the model and the number of dimensions, not the key."""
        said = json.dumps([self.url.rstrip("/"), self.model, self.dimensions])
        return f"api {hashlib.blake2b(said.encode(), digest_size=8).hexdigest()}"

    @property
    def source(self) -> str:
        """Where rows come from, for people."""
        return f"asked at {urlsplit(self.url).netloc}"

    @property
    def _is_local(self) -> bool:
        return urlsplit(self.url).hostname in ("localhost", "127.0.0.1", "::1")

    def encode(self, texts: Sequence[str]) -> NDArray[Any]:
        """Rows in the order of the texts, in as many calls as it takes."""
        headers = self._headers()
        some = [list(texts[k : k + self.batch]) for k in range(0, len(texts), self.batch)]
        with ThreadPoolExecutor(min(AT_ONCE, max(len(some), 1))) as pool:
            parts = list(pool.map(lambda batch: self._rows(batch, headers), some))
        if len({part.shape[1] for part in parts}) > 1:
            raise DataError(f"{self.source}: rows of '{self.model}' differ in length from call to call")
        return np.concatenate(parts)

    def pieces(self, text: str) -> list[str]:
        """Split between words if the text has more bytes than the model certainly reads."""
        most = max(self.context * BYTES_OF_TOKEN, 16)
        if len(text.encode()) <= most:
            return [text]
        found, now, size = [], list[str](), 0
        for word in text.split():
            # A single word longer than all that is read is cut anywhere.
            for part in (word[i : i + most // 4] for i in range(0, len(word), most // 4)):
                more = len(part.encode()) + 1
                if now and size + more > most:
                    found.append(" ".join(now))
                    now, size = [], 0
                now.append(part)
                size += more
        return [*found, " ".join(now)]

    def _headers(self) -> Mapping[str, str]:
        headers = {"Content-Type": "application/json", "User-Agent": "assay"}
        if self.key_name == "none":
            return headers
        key = os.environ.get(self.key_name, "").strip()
        if not key and not self._is_local:
            raise DesignError(
                f"{self.source}: the key is looked for in the environment variable {self.key_name}, which is not set; "
                "set it, name another with key=NAME, or say key=none for a service that asks for none"
            )
        return {**headers, "Authorization": f"Bearer {key}"} if key else headers

    def _rows(self, texts: list[str], headers: Mapping[str, str]) -> NDArray[Any]:
        """One call, retried after temporary failures."""
        body: dict[str, Any] = {"model": self.model, "input": texts, "encoding_format": "float"}
        if self.dimensions is not None:
            body["dimensions"] = self.dimensions
        request = urllib.request.Request(
            f"{self.url.rstrip('/')}/embeddings", json.dumps(body).encode(), dict(headers), method="POST"
        )
        opener = urllib.request.build_opener(_NoRedirect)
        for number in range(MOST_TRIES):
            wait = min(self.first_wait * 2**number, LONGEST_WAIT)
            try:
                with opener.open(request, timeout=TIMEOUT) as reply:
                    return self._read(reply.read(), len(texts))
            except urllib.error.HTTPError as error:
                with error:
                    why, asked = self._refusal(error), _seconds(error.headers.get("Retry-After"))
                if error.code not in (408, 409, 429) and error.code < 500:
                    raise DataError(why) from None
                wait = wait if asked is None else min(asked, LONGEST_WAIT)
            except (urllib.error.URLError, TimeoutError, ConnectionError, HTTPException) as error:
                why = f"{self.source}: no answer ({getattr(error, 'reason', error)})"
            if number + 1 < MOST_TRIES:
                time.sleep(wait)
        raise DataError(f"{why}; tried {MOST_TRIES} times. Finished encodings are kept: run it again later")

    def _refusal(self, error: urllib.error.HTTPError) -> str:
        """The meaning of a status, without the key, which a service might repeat."""
        if error.code in (401, 403):
            return (
                f"{self.source}: the key in {self.key_name} was refused (HTTP {error.code}); look at its leave, or "
                "name another environment variable with key=NAME"
            )
        if 300 <= error.code < 400:
            return f"{self.source}: it sends on to another address (HTTP {error.code}); give that one with url=..."
        said = " ".join(_message(error.read()).split())[:SAID]
        key = os.environ.get(self.key_name, "")
        said = said.replace(key, "***") if key else said
        hint = "; shorter pieces may help: context=..." if error.code == 400 and "context" in said.lower() else ""
        return f"{self.source}: HTTP {error.code} for '{self.model}'{f': {said}' if said else ''}{hint}"

    def _read(self, body: bytes, n: int) -> NDArray[Any]:
        """The rows of a reply, in the order of the texts."""
        try:
            data = json.loads(body)["data"]
            rows = [row["embedding"] for row in sorted(data, key=lambda row: row.get("index", 0))]
            found = np.array(rows, dtype=np.float32)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise DataError(
                f"{self.source}: the reply holds no embeddings; is {self.url}/embeddings the address?"
            ) from None
        if found.ndim != 2 or len(found) != n:
            raise DataError(f"{self.source}: {len(rows)} rows for {n} texts, or rows of unequal length")
        return found


def _message(body: bytes) -> str:
    """The message in an error's body."""
    text = body.decode("utf-8", "replace")
    try:
        content = json.loads(text)
    except ValueError:
        return text
    error = content.get("error", content) if isinstance(content, dict) else content
    return str(error.get("message", error) if isinstance(error, dict) else error)


def _seconds(header: str | None) -> float | None:
    """The wait that a service requests, if it is a number."""
    try:
        return None if header is None else max(float(header), 0.0)
    except ValueError:
        return None
