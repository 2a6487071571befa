// Lower bounds and optimal solutions of boards up to 4x4, from a table file such as `pdb build 663` writes.
// ../format.md explains the file and its terms. A board lists the tile on each cell, 0 for the blank:
//   const tables = readTables(await (await fetch("663.h5")).arrayBuffer());
//   tables.solve([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 13, 14, 15]); // [13, 14, 15], the tiles to slide
export function readTables(buffer) {
  const file = new Uint8Array(buffer), text = new TextDecoder().decode(file.subarray(0, file.indexOf(10)));
  const header = text.startsWith('{"format":"tile-pdb"') ? JSON.parse(text) : {};
  const { format_version, width, height, goal, partitions, encoding, cost, patterns } = header;
  const isPlain = !partitions && encoding === "bits" && cost === "additive" && patterns.every(({ bytes }) => bytes);
  if (format_version !== 5 || goal.length > 16 || !isPlain) throw new Error("not a table file such as 663.h5");

  const cells = [...goal.keys()], home = goal.indexOf(0);
  const row = (cell) => Math.floor(cell / width), column = (cell) => cell % width;
  const gap = (one, other) => Math.abs(row(one) - row(other)) + Math.abs(column(one) - column(other));
  const near = cells.map((cell) => cells.filter((other) => gap(cell, other) === 1));
  const owner = cells.map((tile) => patterns.findIndex(({ tiles }) => tiles.includes(tile))); // -1 for the blank
  const swap = (board, one, other) => board.with(one, board[other]).with(other, board[one]);

  // blocks[16 * set + blank]: the block of a location set, in which each cell is a bit, and of the blank's region.
  const blocks = new Int32Array(16 << 16).fill(-1), nBlocks = Array(17).fill(0); // nBlocks[k]: for sets of k cells
  function fill(set, cell, block) {
    if ((set >> cell) & 1 || blocks[16 * set + cell] >= 0) return false;
    blocks[16 * set + cell] = block;
    for (const next of near[cell]) fill(set, next, block);
    return true;
  }
  (function addBlocks(set, k, first) {
    for (const lowest of cells) if (fill(set, lowest, nBlocks[k])) nBlocks[k]++;
    for (const cell of cells.slice(first)) addBlocks(set | (1 << cell), k + 1, cell + 1);
  })(0, 0, 0);

  // The index of a bit in the file: of pattern p, for its tiles as they are on the board, and for the blank's region.
  function entry(p, board) {
    const at = cells.filter((cell) => owner[board[cell]] === p);
    const set = at.reduce((bits, cell) => bits | (1 << cell), 0);
    const nSmaller = (cell) => at.filter((later) => later > cell && board[later] < board[cell]).length;
    const rank = at.reduce((sum, cell, i) => sum * (at.length - i) + nSmaller(cell), 0);
    const block = blocks[16 * set + board.indexOf(0)], blockBytes = patterns[p].bytes / nBlocks[at.length];
    return 8 * (patterns[p].offset + block * blockBytes) + rank;
  }
  const bit = (index) => (file[Math.floor(index / 8)] >> index % 8) & 1;
  // Whether a move has led from distance d to d - 1, and not to d + 1. Only the remainder of d modulo 4 matters.
  const isNearer = (p, board, d) => bit(entry(p, board)) === (((d - 1) >> 1) & 1);
  const nDark = (p, board) => cells.filter((cell) => owner[board[cell]] === p && gap(0, cell) % 2).length;
  function distance(p, board, d = 2 * bit(entry(p, board)) + ((nDark(p, board) + nDark(p, goal)) % 2)) {
    const here = entry(p, board), blank = board.indexOf(0);
    if (here === entry(p, goal)) return 0;
    for (const to of cells.filter((cell) => entry(p, swap(board, blank, cell)) === here)) // in the blank's region
      for (const from of near[to].filter((cell) => owner[board[cell]] === p)) {
        const next = swap(swap(board, blank, to), to, from);
        if (isNearer(p, next, d)) return 1 + distance(p, next, d - 1);
      }
  }

  // A state is a board and its reflection, if that keeps the blank's goal cell, with the distance of each pattern.
  const mirror = width === height && row(home) === column(home) ? cells.map((c) => column(c) * width + row(c)) : cells;
  const reflected = (board) => mirror.map((cell) => goal[mirror[goal.indexOf(board[cell])]]);
  const inversions = (board) => board.flatMap((tile, cell) => board.slice(cell).filter((later) => later < tile)).length;
  const isOdd = (board) => (inversions(board) + gap(0, board.indexOf(0))) % 2;
  function lookUp(board) {
    if (isOdd(board) !== isOdd(goal)) throw new Error("this board cannot be solved");
    return [board, reflected(board)].map((board) => ({ board, values: patterns.map((_, p) => distance(p, board)) }));
  }
  const h = (state) => Math.max(...state.map(({ values }) => values.reduce((sum, value) => sum + value)));
  const slide = (state, cell) =>
    state.map(({ board, values }, i) => {
      const from = i ? mirror[cell] : cell, p = owner[board[from]], next = swap(board, from, board.indexOf(0));
      return { board: next, values: values.with(p, values[p] + (isNearer(p, next, values[p]) ? -1 : 1)) };
    });
  function search(state, left, last) {
    if (h(state) === 0) return [];
    const [{ board }] = state, blank = board.indexOf(0);
    for (const cell of near[blank].filter((cell) => cell !== last)) {
      const next = slide(state, cell), moves = h(next) < left && search(next, left - 1, blank);
      if (moves) return [board[cell], ...moves];
    }
  }
  const solve = (board, limit = h(lookUp(board))) => search(lookUp(board), limit) ?? solve(board, limit + 2);
  return { lookUp, h, slide, solve };
}
