"""Commands refuse what is wrong: an exit code, one line on stderr, and no file changed or left behind."""

import re
import shlex
from pathlib import Path

import pytest

from tests import rows
from tests.command_line import pdb
from tests.tables import table_file

# Exit code | command | a part of the message, in which ... is any text.
REFUSALS = rows("""
2 | solve --db d.h5 "1 2 3/4 5 6/7 8 8" | 8 appears twice, missing 0
2 | solve --db d.h5 --instances snake.csv | snake.csv line 2: goal is neither one of
2 | query --db d.h5 --instances hardest8 | did you mean hardest80
2 | solve --db d.h5 none.pkl | there is no file
4 | solve --db damaged.h5 "1 2 3/4 5 6/7 8 0" | damaged
4 | info damaged.h5 | damaged
4 | verify damaged.h5 | damaged
4 | stats damaged.h5 | damaged
4 | query --db d.h5 --db of-2x2.h5 "1 2 3/4 5 6/7 8 0" | 2x2
2 | solve --worker-db a.h5 "1 2 3/4 5 6/7 8 0" | --worker-db needs --scheduler
2 | solve --list "1 2 3/4 5 6/7 8 0" | --list needs --all
2 | solve --all --list --format json "1 2 3/4 5 6/7 8 0" | --list writes only text or ndjson
2 | search --all --list --notation blank "1 2 3/4 5 6/7 8 0" | --list writes tiles
2 | solve --all --list --log a.log "1 2 3/4 5 6/7 8 0" | --list cannot be combined with --log
2 | solve --all --scheduler tcp://127.0.0.1:9 "1 2/3 0" | leave out --scheduler to solve on this
2 | solve --threads 2 --scheduler tcp://127.0.0.1:9 "1 2/3 0" | set it by dask worker --nthreads
1 | solve --db d.h5 --scheduler tls://host:8786 "1 2 3/4 5 6/7 8 0" | names no certificates for TLS
2 | solve --instances - --shard 0/3 | shard '0/3' is not I/N with I from 1 to N; give one such as 2/8
2 | solve --instances - --shard 1/\u0663 | is not I/N with I from 1 to N
2 | solve --tiles letters --goal _ _ | is not square: it has 1 number, and
2 | solve --tiles letters --goal "a b/a _" "a b/a _" | tile 'a' twice
2 | solve --tiles letters --goal "a b/c d" "a b/c d" | 0 blanks
2 | solve --tiles letters --goal "a _/b ." "a _/b ." | 2 blanks
2 | solve --tiles letters --goal "a b/c _" "b d/a _" | 'd' is no tile of the goal
2 | solve --tiles letters --goal "a b/c _" words.dat | words.dat line 3: 'zebra' is no tile
2 | solve 8 6 7 2 5 4 3 0 | board '8 6 7 2 5 4 3 0' is not square: it has 8 numbers
2 | solve 8 6 7/2 5 4/3 0 | board '8 6 7/2 5 4/3 0'
2 | approximate "1 2 3" | a square board has 4, 9, 16, ... numbers
2 | approximate --from "1 2/0 3" | are only valid together
2 | approximate --from "1 2/0 3" --to "1 2/3 0" "1 2/0 3" | cannot be combined with other boards
2 | approximate --tiles letters "a b/_ c" | needs --goal
2 | approximate --tiles leters "1 2/0 3" | 'leters' is not one of 'numbers', 'letters'; did you mean letters?
2 | approximate - | give --instances - to read boards from standard input
2 | check - | give --instances - to read boards from standard input
2 | check --db d.h5 | standard input has no boards
2 | check --db d.h5 "1 2 3/4 0 6/7 5 8" | the moves after the board
2 | check --db d.h5 --boards 2 --instances classic | no board comes with moves
2 | check --db d.h5 --goal "1 2 3/4 6 0/7 5 8" "1 2 3/4 0 6/7 5 8" 6 | cannot serve the goal
2 | approximate "1 2/3 0" --goal snial | did you mean snail?

2 | search "1 2/3 0" --algorithm breadth-fist | give one of ida-star, a-star...did you mean breadth-first?
2 | search "1 2/3 0" --algorithm bidirectional --heuristic manhattan | uses no heuristic
2 | search "1 2/3 0" --algorithm a-star --plain | needs --algorithm ida-star
2 | search "1 2/3 0" --algorithm a-star --all | needs --algorithm ida-star
2 | search "1 2/3 0" --weight 2 | needs --algorithm weighted-a-star
2 | search "1 2/3 0" --memory-limit 1G | IDA* stores no nodes
2 | search "1 2/3 0" --algorithm a-star --memory-limit much | is not a number of bytes
2 | search "1 2/3 0" --algorithm weighted-a-star --weight 0.5 | a suboptimality bound from 1
2 | search "1 2/3 0" --heuristic manhatan | is not known; give one of misplaced...did you mean manhattan?
2 | search "1 2/3 0" --heuristic max(db,manhattan) | give --algorithm a-star
2 | search "1 2/3 0" --heuristic manhattan --db d.h5 | does not use the tables of --db

2 | build 999 | neither a name
2 | build 24-smal | did you mean 24-small?
2 | build auto | give a size
2 | build 663 --size 3x3 | one of a 4x4 board
2 | build auto --size 9x9 | go to boards of 6x6
2 | build 8 --threads 2 --scheduler tcp://127.0.0.1:9 | --threads is for this machine
2 | build 663 --goal "1 2 3 4/5 0 6 7/8 9 10 11/12 13 14 15" | blank in the corner
2 | build 8 --out no/where/8.h5 | cannot write no/where/8.h5: No such file or directory; make its folder first
2 | build 8 --out no/where/8.h5 --dry-run | make its folder first
2 | build 8 --out here --dry-run | cannot write here: it is a folder; choose another place
2 | build 8 1,2,3,4/5,6,7,8 --out a.h5 | --out names one file for 2 partitions; leave it out
2 | build 8 --shards 2 | --shards needs a cluster; give --scheduler, too
2 | build 8 --out b.txt | b.txt is no table file ... by force
2 | build 8 --out b.txt --dry-run | b.txt is no table file ... by force
2 | build 1,2 --size 3x3 | in no pattern...the cost every-move
2 | build 8+1,2/3,4,5,6,7,8 --encoding bytes | catalogue ...built in bits
2 | build fringe --encoding bytes | leave the encoding out
5 | build 8 --out /proc/8.h5 | /proc/8.h5 needs ... are free there
5 | build 1,2,3,4,5,6,7,8,9/10,11,12,13,14,15,16,17/18,19,20,21,22,23,24 --size 5x5 --dry-run | tiles would fit
2 | build 1,2/3,4 --size 32x2 | go to boards of 6x6, this board is ...; pdb approximate finds a suboptimal
2 | bench 663 nonsense | partition 'nonsense' is neither a name
2 | bench 663 --set korf50-24puzzle | korf50-24puzzle has no 4x4 boards, which 663 is for

2 | label --db d.h5 --out a.npz | no boards to label; give --random N
2 | label --db d.h5 --out a.npz --walks 3 | --walks is for random boards; give --random N
2 | label --db d.h5 --out a.npz --seed 0 "1 2 3/4 5 6/7 8 0" | --seed is for random boards; give --random N
2 | label --db d.h5 --out a.npz --random 3 "1 2 3/4 5 6/7 8 0" | cannot be combined with other boards
2 | label --db d.h5 --out a.npz --random 3 --instances korf100 | cannot be combined with other boards
2 | label --db d.h5 --out a.npz --random 3 --boards 2 | cannot be combined with other boards
2 | label --db d.h5 --out a.npz --random 0 | --random
2 | label --db d.h5 --out a.npz --random 3 --walks x | such as 10,20,50 or 1-100
2 | label --db d.h5 --out a.npz --random 3 --seed -1 | --seed
2 | label --db d.h5 --out a.txt --random 3 | unknown suffix .txt; choose one of .npz
2 | label --db d.h5 --out a.npz --random 3 --shard 4/3 | shard '4/3' is not I/N
2 | label --db d.h5 --out none/a.npz --random 3 | cannot write none/a.npz
2 | label --db d.h5 --out a.npz "1 2 3/4 5 6/7 8 0" "1 2/3 0" | board 2 is 2x2, boards before it are 3x3
2 | label --db d.h5 --out a.npz --instances goals.csv | board b has another goal than the boards before it
2 | label --db d.h5 --out a.npz --instances empty.csv | holds no board
2 | label --db d.h5 --out a.npz --instances - | standard input has no boards
2 | label --db d.h5 --out a.npz --random 3 --size 7x7 | 6x6
2 | label --db d.h5 --out a.npz none.pkl | there is no file and no instance set 'none.pkl'
2 | label --db d.h5 --random 3 | --out

2 | study compare --heuristic euclid | is not known
2 | study compare --algorithm depth-first | give one of ida-star
2 | study compare --weight 2 | no --algorithm uses it
2 | study heuristics --db d.h5 --heuristic max(db,manhattan) | tables are studied by themselves; give --heuristic db
5 | study compare --boards 3 --max-nodes 10 | boards were given up at a limit
3 | study compare --instances unsolvable.csv | 1 board of 2 cannot be solved by any
2 | solve boards | 'boards' is not a number...there is no file of this name
2 | solve korf100 | give --instances korf100
2 | solve --instances korf100 --goal snail | has boards for the goal blank-first, not for snail; leave --goal out
2 | study compare --size 7x7 | 6x6...smaller size
2 | study compare --heuristic max(db,manhattan) | --algorithm a-star
2 | study compare --heuristic manhattan --instances empty.csv | holds no board
2 | study compare --heuristic manhattan --instances - | standard input has no boards
2 | study compare --seed 0 --instances korf100 | --seed is for random boards; leave out --seed or --instances
2 | study heuristics 7x1 | 7x1
2 | study heuristics 3x3 --heuristic euclid | is not known
2 | study heuristics 3x3 --plot a.txt | unknown suffix .txt; give --plot a file that ends in .svg, .png or .pdf
2 | study heuristics 3x3 --goal "1 2 3" | goal
2 | study space 9x9 | go to boards of 6x6...up to 12 cells...a depth
2 | study space 3 | WIDTHxHEIGHT
2 | study space 3x3 --goal "1 2 3" | neither one of
2 | study space 3x3 --plot none/a.svg | cannot write none/a.svg...--plot
2 | study space 4x4 --memory-limit much | not a number of bytes

2 | serve --db none.h5 --token-file line.token | token
2 | serve --db none.h5 --token-file words.token | token
2 | serve --size 7x7 | tables go to boards of 6x6, this board is 7x7; leave it out
2 | serve --db none.h5 --host a..b | choose another with --host
2 | serve --db none.h5 --allowed-host http://a | --allowed-host
2 | serve --db none.h5 --cors-origin https://example.org/ | --cors-origin

2 | solve --db d.h5 b.txt --out d.h5 | would overwrite ...--db...; choose another place with --out
2 | solve --db d.h5 b.txt --out ./here/d.h5 | would overwrite ...--db...; choose another place with --out
2 | solve --db d.h5 b.txt --out link.h5 | would overwrite ...--db...; choose another place with --out
2 | solve --db link.h5 b.txt --out d.h5 | would overwrite ...--db...; choose another place with --out
2 | solve --db d.h5 b.txt --log hard.h5 | would overwrite ...--db...; choose another place with --log
2 | solve --instances b.txt --out b.txt | would overwrite ...--instances...; choose another place with --out
2 | solve b.dat --out b.dat | would overwrite ...boards...; choose another place with --out
2 | solve b.txt --log new --out here/new | would overwrite ...--log...; choose another place with --out
2 | stats d.svg --boards 10 --plot d.svg | would overwrite ...table file...; choose another place with --plot
2 | study compare --db d.svg --heuristic db --boards 2 --plot d.svg | would overwrite ...--db...; choose another place

2 | biuld | build
""")
FILES = {
    "snake.csv": "board,goal\n1 2 3 4 5 6 7 8 0,snake\n",
    "goals.csv": 'id,board,goal\na,1 2 3/4 5 6/7 8 0,blank-last\nb,1 2 3/4 5 6/7 8 0,"0 1 2/3 4 5/6 7 8"\n',
    "empty.csv": "id,board\n",
    "unsolvable.csv": "board\n1 2 3/4 5 6/8 7 0\n1 2 3/4 5 6/7 8 0\n",
    "line.token": "\n",
    "words.token": "two words",
    "words.dat": "2\nb a\n_ zebra\n",
    **dict.fromkeys(("b.txt", "b.dat"), "1 2 3/4 5 6/7 0 8\n"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, small_table: str) -> Path:
    """Return a folder with tables and boards, some under several names."""
    folder = tmp_path_factory.mktemp("refusals")
    content = Path(small_table).read_bytes()
    tables = {"d.h5": content, "d.svg": content, "damaged.h5": content.replace(b"4,6/7,8", b"4,6/8,7", 1)}
    tables["of-2x2.h5"] = table_file("1,2,3", "2x2").read_bytes()
    for name, given in (tables | {name: text.encode() for name, text in FILES.items()}).items():
        (folder / name).write_bytes(given)
    (folder / "link.h5").symlink_to("d.h5")
    (folder / "hard.h5").hardlink_to(folder / "d.h5")
    (folder / "here").symlink_to(folder)
    return folder


@pytest.mark.parametrize(("code", "words", "told"), REFUSALS)
def test_command_refuses(code: str, words: str, told: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    before = {path.name: path.is_file() and path.read_bytes() for path in folder.iterdir()}
    result = pdb(*shlex.split(words), COLUMNS="300")
    assert result.returncode == int(code), result.stderr
    assert re.search(re.escape(told).replace(r"\.\.\.", ".*"), result.stderr), result.stderr
    # Errors in the usage of options are shown by Click, in a frame.
    assert len(result.stderr.splitlines()) == 1 or "Usage: " in result.stderr
    assert {path.name: path.is_file() and path.read_bytes() for path in folder.iterdir()} == before
