"""One measurement in a process of its own: a request in JSON as the argument, the result printed.

Processor time and time of the clock are both taken; who asked chooses. The text is read and cut
before the library is imported, NumPy is imported, and the garbage collector is off while timing.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import texts
from benchmarks.peers import PEERS, Peer, UnsupportedError, load

Result = dict[str, Any]
Request = dict[str, Any]


def timed(work: Callable[[Any], Any], argument: Any) -> tuple[Any, list[float]]:
    """Return the result of a call, and its seconds of processor and clock."""
    gc.collect()
    gc.disable()
    clock, processor = time.perf_counter(), time.process_time()
    result = work(argument)
    taken = [time.process_time() - processor, time.perf_counter() - clock]
    gc.enable()
    return result, taken


def _offered(call: Callable[[Any], Any] | None, what: str) -> Callable[[Any], Any]:
    if call is None:
        raise UnsupportedError(what)
    return call


def _call(peer: Peer, shape: str, output: str) -> Callable[[Any], Any]:
    """Return the call for a shape and an output."""
    calls: dict[str, Any]
    if shape == "file":
        single = peer.one_flat or peer.one

        def read(path: str) -> Any:
            return single(Path(path).read_text("utf-8"))

        return peer.file or read
    if shape == "one":
        flat = peer.one_flat or peer.one  # the densest form that there is
        calls = {"list": peer.one, "flat": flat, "offsets": peer.one_offsets}
        return _offered(calls[output], output)
    several: Any = peer.batch_flat or peer.batch
    calls = {"list": peer.batch, "flat": several, "offsets": peer.batch_offsets}
    return _offered(calls[output], output)


def _rows(peer: Peer, result: Any, shape: str, output: str) -> Iterable[Any]:
    """Return a result as one array of ids for each input."""
    if shape == "file":
        several = hasattr(result, "layout") or isinstance(result, tuple)
        parts = peer.rows(result) if several else [result]
        return [np.concatenate([np.asarray(part) for part in parts])]
    if output == "offsets":
        return [result[0]] if shape == "one" else [row[0] for row in result]
    if shape == "one":
        return [result]
    flat = output == "flat" and peer.batch_flat is not None
    rows: Iterable[Any] = peer.rows(result) if flat else result
    return rows


def digests(rows: Iterable[Any]) -> tuple[list[str], int]:
    """Return a digest of the ids of each input, and the number of all ids."""
    found, count = [], 0
    for row in rows:
        ids = np.ascontiguousarray(np.asarray(row, np.uint32))
        count += len(ids)
        found.append(hashlib.blake2b(ids.tobytes(), digest_size=8).hexdigest())
    return found, count


def _whole(rows: list[str]) -> str:
    return hashlib.blake2b("".join(rows).encode(), digest_size=16).hexdigest()


def _inputs(request: Request, data: Path) -> tuple[Any, int]:
    """Return what is encoded, and its bytes."""
    shape = request["shape"]
    text = texts.read(data, request["text"], request["megabytes"])
    size = len(text.encode())
    if shape == "file":
        path = data / f"file-{request['text']}-{request['megabytes']}.txt"
        if not path.exists():
            path.write_text(text, "utf-8", newline="")
        return str(path), size
    parts = texts.shaped(text, shape)
    return (parts[0] if shape == "one" else parts), size


def encode(request: Request, data: Path) -> Result:
    """Encode a text twice: cold, then warm."""
    given, size = _inputs(request, data)
    shape, output = request["shape"], request["output"]
    peer = load(request["peer"], request["vocabulary"], data, request["threads"])
    call = _call(peer, shape, output)
    result, cold = timed(call, given)
    found, count = digests(_rows(peer, result, shape, output))
    del result
    answer: Result = {"bytes": size, "tokens": count, "digest": _whole(found), "cold": cold}
    if request.get("rows"):
        answer["rows"] = found
    if request.get("warm", True):
        _, answer["warm"] = timed(call, given)
    return answer


def stream(request: Request, data: Path) -> Result:
    """Encode one part of fresh text after the other with one tokenizer."""
    megabytes, parts = request["megabytes"], request["parts"]
    text = texts.read(data, request["text"], megabytes * parts)
    peer = load(request["peer"], request["vocabulary"], data, request["threads"])
    call = _call(peer, "documents", request["output"])
    documents = texts.cut(text, texts.DOCUMENT)
    share = -(-len(documents) // parts)
    times, sizes = [], []
    digest = []
    for start in range(0, len(documents), share):
        part = documents[start : start + share]
        result, taken = timed(call, part)
        digest += digests(_rows(peer, result, "documents", request["output"]))[0]
        del result
        times.append(taken)
        sizes.append(sum(len(document.encode()) for document in part))
    later = [sum(time[kind] for time in times[1:]) for kind in (0, 1)]
    return {"bytes": sum(sizes[1:]), "digest": _whole(digest), "later": later, "first": times[0]}


def latency(request: Request, data: Path) -> Result:
    """Time single calls over distinct texts, for a second time: a server that runs."""
    text = texts.read(data, request["text"], request["megabytes"])
    # 20 tokens of English are about 90 bytes
    size = int(request["tokens"] * 4.5)
    prompts = texts.cut(text, size)[: request["calls"]]
    peer = load(request["peer"], request["vocabulary"], data)
    call = _call(peer, "one", request["output"])
    rows = [call(prompt) for prompt in prompts]

    def every(prompts: list[str]) -> None:
        for prompt in prompts:
            call(prompt)

    digest, count = digests(rows)
    _, taken = timed(every, prompts)
    each = [seconds / len(prompts) * 1e6 for seconds in taken]
    return {"digest": _whole(digest), "tokens": count / len(prompts), "each": each}


def start(request: Request, data: Path) -> Result:
    """Import, load, and encode a first text: milliseconds and memory."""
    _, modules, function = PEERS[request["peer"]]

    before = memory("VmRSS")
    _, imported = timed(import_module, modules[0])
    peer, loaded = timed(lambda _: function(request["vocabulary"], data, 1), None)
    _, first = timed(peer.one, "Hello world")
    _, second = timed(peer.one, "Hello there")
    sums = [(load + call) * 1e3 for load, call in zip(loaded, first, strict=True)]
    return {
        "to first id": sums,
        "import": [seconds * 1e3 for seconds in imported],
        "load": [seconds * 1e3 for seconds in loaded],
        "first call": [seconds * 1e3 for seconds in first],
        "second call": [seconds * 1e3 for seconds in second],
        "megabytes": memory("VmRSS") - before,
    }


def memory(what: str) -> float:
    """Return the resident memory of this process, or its peak, in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(what):
            return int(line.split()[1]) * 1024 / texts.MILLION
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def peak(request: Request, data: Path) -> Result:
    """Encode a large batch, and say how far memory rose above what there was before."""
    documents, size = _inputs(request, data)
    peer = load(request["peer"], request["vocabulary"], data, request["threads"])
    peer.one("Hello world")
    call = _call(peer, "documents", "flat")
    gc.collect()
    before = memory("VmRSS")
    reset = Path("/proc/self/clear_refs")
    if reset.exists():
        reset.write_text("5")  # forget the peak so far
    result = call(documents)
    rise = memory("VmHWM") - before
    digest, count = digests(_rows(peer, result, "documents", "flat"))
    held = (count * 4 + len(documents) * 8) / texts.MILLION
    return {"bytes": size, "digest": _whole(digest), "rise": rise, "output": held}


def decode(request: Request, data: Path) -> Result:
    """Decode documents, or a token a call; the text is compared with what was encoded."""
    text = texts.read(data, request["text"], request["megabytes"])
    documents = texts.cut(text, texts.DOCUMENT)
    peer = load(request["peer"], request["vocabulary"], data)
    calls = {"list": peer.decode, "array": peer.decode_array, "stream": peer.stream}
    call = _offered(calls[request["output"]], request["output"])
    ids: list[Any] = [[int(id) for id in peer.one(document)] for document in documents]
    if request["output"] == "array":
        ids = [np.asarray(row, np.uint32) for row in ids]

    def every(rows: list[Any]) -> list[Any]:
        return [call(row) for row in rows]

    found, cold = timed(every, ids)
    del found
    found, warm = timed(every, ids)
    decoded = [part if isinstance(part, bytes) else (part or "").encode() for part in found]
    digest = hashlib.blake2b(b"\0".join(decoded), digest_size=16).hexdigest()
    return {"bytes": sum(map(len, decoded)), "digest": digest, "cold": cold, "warm": warm,
            "tokens": sum(map(len, ids))}  # fmt: skip


JOBS: dict[str, Callable[[Request, Path], Result]] = {
    "encode": encode,
    "stream": stream,
    "latency": latency,
    "start": start,
    "peak": peak,
    "decode": decode,
}


def main() -> int:
    """Do what the argument asks, and print the result."""
    request = json.loads(sys.argv[1])
    data = Path(request["data"])
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(request["cores"]))
    try:
        answer = JOBS[request["job"]](request, data)
    except UnsupportedError as error:
        answer = {"unsupported": str(error)}
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  a library's panic is a result, too
        answer = {"error": f"{type(error).__name__}: {str(error)[:200]}"}
    print("\n" + json.dumps(answer), flush=True)
    os._exit(0)  # what a library does as it goes is not measured


if __name__ == "__main__":
    main()
