"""Send malformed and hostile requests to a local server, and check that it keeps working.

    python scripts/service_load/hostile_requests.py --requests 100000
    python scripts/service_load/hostile_requests.py --requests 100000 --db data/78.h5 --seed 2

Starts `pdb serve` on a free port of this machine, with its usual limits, and sends
the requests of tests/pdb_service/hostile_requests.py.
Prints the requests, the answers by status, the 5xx other than 503, memory and open files before, between and after, and
whether it still answers. Exits with 1 if one of these is wrong.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.pdb_service.hostile_requests import EASY, hostile_requests, open_files, resident_bytes, send_all
from tests.pdb_service.server import Server, serving
from tests.tables import table_file

_ROUNDS = 10


def state(server: Server) -> tuple[int, int]:
    """Return memory and open files of the server after all solves have ended."""
    deadline = time.monotonic() + 30
    while server.metric("tile_pdb_solves_running") > 0 and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1)
    return resident_bytes(server.process.pid), open_files(server.process.pid)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=24)
    parser.add_argument("--db", type=Path, action="append", help="a table file (default: a new 663)")
    given = parser.parse_args()
    with serving(*(given.db or [table_file("663", "4x4")])) as server:
        n_failed = n_unanswered = n_sent = 0
        statuses: dict[int, int] = {}
        # The first requests compile kernels and fill pools; growth is measured after them.
        send_all(server.port, hostile_requests(max(1, given.requests // 100), given.seed - 1), given.threads)
        before = state(server)
        print(f"before:        {before[0] / 1e6:7.1f} MB  {before[1]:3} files")
        started = time.perf_counter()
        for number in range(_ROUNDS):
            requests = hostile_requests(given.requests // _ROUNDS, given.seed + number)
            outcomes = send_all(server.port, requests, given.threads)
            n_sent += outcomes.n_sent
            for status, n in outcomes.statuses.items():
                statuses[status] = statuses.get(status, 0) + n
            for status, hostile in outcomes.failed:
                print(f"{status}: {hostile.kind}: {hostile.pieces[0][:200]!r}")
            for hostile in outcomes.unanswered:
                print(f"no answer: {hostile.kind}: {hostile.pieces[0][:200]!r}")
            n_failed += len(outcomes.failed)
            n_unanswered += len(outcomes.unanswered)
            after = state(server)
            print(f"{n_sent:7} sent:  {after[0] / 1e6:7.1f} MB  {after[1]:3} files", flush=True)
        seconds = time.perf_counter() - started
        # An easy board: on a busy machine a hard one may reach the time limit.
        solved = server.ask("/v1/solve?board=" + EASY.replace(" ", "+"), timeout=60)
        serves = server.process.poll() is None and solved.status == 200 and solved.json["length"] == 1
        errors = [line for line in server.log if "ERROR" in line]
        print(f"requests:      {n_sent} in {seconds:.0f} s")
        print("answers:       " + ", ".join(f"{status}: {n}" for status, n in sorted(statuses.items())))
        print(f"5xx, not 503:  {n_failed}")
        print(f"not answered:  {n_unanswered}")
        print(f"errors logged: {len(errors)}")
        print(f"memory:        {(after[0] - before[0]) / 1e6:+.1f} MB")
        print(f"files:         {after[1] - before[1]:+}")
        print(f"still serving: {'yes, a board solved' if serves else f'NO: {solved.status} {solved.body[:500]!r}'}")
    return 1 if n_failed or n_unanswered or errors or not serves else 0


if __name__ == "__main__":
    sys.exit(main())
