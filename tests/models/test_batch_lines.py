"""The lines of a batch's results, as a service writes them."""

import asyncio
from collections.abc import AsyncIterator

from maskbench.models.chat.batch_jobs import read_lines


async def given(*lines: bytes) -> AsyncIterator[bytes]:
    """These lines, one by one."""
    for line in lines:
        yield line


async def ids(*lines: bytes) -> list[str]:
    """The requests that these lines answer."""
    return [line["custom_id"] async for line in read_lines(given(*lines))]


def test_no_result_is_lost_over_odd_json() -> None:
    """Half a character, NaN or a mark of bytes hides no line that was paid for; what is no JSON is left out."""
    lines = (
        b'\xef\xbb\xbf{"custom_id": "1"}',
        rb'{"custom_id": "2", "text": "\ud83d"}',
        b'{"custom_id": "3", "logprob": NaN}',
        b"",
        b"<html>",
        b'{"custom_id": "4"}',
    )
    assert asyncio.run(ids(*lines)) == ["1", "2", "3", "4"]
