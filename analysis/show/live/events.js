/* What every rank did in single iterations, event by event; the map above chooses which. */

const MOST_CHOSEN = 12; // iterations at once
const SHOWN_FIRST = 4; // iterations
const ALL_NAMED = 12; // ranks up to which every row has its number
const MOST_NAMED = 3; // ranks on the critical path

class Events extends Chart {
  constructor(figure, data, codes) {
    super(figure, data, codes);
    this.codes = codes;
    this.ranks = data.y.names.length;
    this.width = data.width;
    this.row = new Map(data.y.names.map((name, row) => [Number(name), row]));
    this.pathWords = figure.querySelector(".path");
    this.table = figure.querySelector(".numbers");
    const chosen = chosenInAddress().get(figure.id), { iterations } = data;
    const first = Math.max(iterations.indexOf(data.first ?? iterations[0]), 0); // the one that the page names
    const from = clamp(first - 1, 0, Math.max(iterations.length - SHOWN_FIRST, 0));
    this.choose(chosen ?? `${iterations[from]}-${iterations[Math.min(from + SHOWN_FIRST, iterations.length) - 1]}`, false);
    if (!chosen) this.show_numbers(first);
  }
  value(place, rank, at) { return unlogged(this.data, this.codes[(place * this.ranks + rank) * this.width + at]); }
  choose(key, kept = true) { // iterations as FIRST or FIRST-LAST
    const [first, last = first] = key.split("-").map(Number), { iterations } = this.data;
    if (!Number.isFinite(first) || !Number.isFinite(last)) return;
    let places = [...iterations.keys()].filter((place) => iterations[place] >= first && iterations[place] <= last);
    if (!places.length) { // the nearest that is there
      const middle = (first + last) / 2;
      places = [iterations.reduce((best, each, place) => Math.abs(each - middle) < Math.abs(iterations[best] - middle) ? place : best, 0)];
    }
    const left = places.length - MOST_CHOSEN;
    this.places = left > 0 ? this.slowest(places) : places;
    this.boxes = this.places.flatMap((place) => this.boxesOf(place));
    this.path = this.pathOf(this.places);
    const begin = Math.min(...this.boxes.map((box) => box.from)), end = Math.max(...this.boxes.map((box) => box.to));
    this.data.x.limits = [begin, end];
    this.view = [begin, end];
    const [low, high] = [iterations[this.places[0]], iterations[this.places.at(-1)]];
    this.said = (low === high ? `Iteration ${low}` : `Iterations ${low} to ${high}`) +
      (left > 0 ? `: the slowest of ${places.length} and those next to it` : "");
    this.sayPath();
    if (kept && placeInAddress().startsWith(`${this.figure.id}=`)) keep(`${this.figure.id}=${first}-${last}`);
    else if (kept) choose(this.figure.id, `${first}-${last}`);
    this.hint = `${this.said}. ${this.hint.replace(/^Iterations? \d[^.]*\. /, "")}`;
    this.lead();
    this.show_numbers(this.places.reduce((worst, place) => this.longest(place) > this.longest(worst) ? place : worst, this.places[0]));
    this.point_at(null);
  }
  /* Pieces of the critical path in one iteration: own work of a rank before an event, or after the last one. */
  piecesOf(place) {
    const { iterations, pieces, begin } = this.data, all = iterations.length * pieces, found = [];
    const from = iterations.length * this.ranks * this.width + place * pieces;
    for (let i = 0; i < pieces; i++) {
      const rank = this.codes[from + 2 * all + i] - 1, at = begin[place] + unlogged(this.data, this.codes[from + i]);
      if (rank >= 0) found.push({ rank, from: at, to: at + unlogged(this.data, this.codes[from + all + i]), iteration: iterations[place], first: i === 0, closes: i === pieces - 1 });
    }
    return found;
  }
  pathOf(places) { // in stretches of iterations that follow each other
    const stretches = [], { iterations } = this.data;
    places.forEach((place, i) => {
      if (!i || iterations[place] !== iterations[places[i - 1]] + 1) stretches.push([]);
      stretches.at(-1).push(...this.piecesOf(place));
    });
    return stretches.filter((pieces) => pieces.length);
  }
  sayPath() { // the share of the time that each rank carries
    if (!this.data.pieces) return;
    const on = new Map();
    let whole = 0, between = 0;
    for (const pieces of this.path) {
      whole += pieces.at(-1).to - pieces[0].from;
      pieces.forEach((piece, i) => {
        on.set(piece.rank, (on.get(piece.rank) ?? 0) + piece.to - piece.from);
        const before = pieces[i - 1];
        if (piece.first && before && before.iteration === piece.iteration - 1 && before.closes) between += Math.max(piece.from - before.to, 0);
      });
    }
    const share = (seconds) => unbroken(percentText(clamp(seconds / whole, 0, 1), 0));
    const ranked = [...on].sort((a, b) => b[1] - a[1]), named = ranked.slice(0, MOST_NAMED).filter(([, seconds]) => seconds > 0.005 * whole), others = ranked.slice(MOST_NAMED);
    const sum = (found) => found.reduce((total, each) => total + each[1], 0);
    const said = named.map(([rank, seconds], i) => i ? `rank ${rank}: ${share(seconds)}` : `rank ${rank} carries ${share(seconds)} of the time`);
    if (sum(others) > 0.005 * whole) said.push(`${others.length} other ${others.length > 1 ? "ranks" : "rank"}: ${share(sum(others))}`);
    const rest = [["in reductions and messages", whole - sum(ranked) - between], ["between iterations", between]]
      .filter(([, seconds]) => seconds > 0.005 * whole).map(([where, seconds]) => `${share(seconds)} is ${where}`);
    this.pathWords.textContent = whole > 0 ? `Critical path of ${this.said.replace("I", "i")}: ${[...(said.length ? [said.join(", ")] : []), ...rest].join("; ")}.`
      : "In these iterations the critical path is in a pending reduction throughout.";
  }
  lead() { // the maps of the same run say of which iterations these are the events
    const { iterations } = this.data, ends = [iterations[this.places[0]], iterations[this.places.at(-1)]];
    for (const map of this.figure.closest("section").querySelectorAll('[data-kind="map"]')) LIVE.get(map.id)?.follow(ends);
  }
  rowOf(rank) { // of a rank that is not shown, between those that are
    const below = this.data.y.names.filter((name) => Number(name) < rank).length;
    return this.row.get(rank) ?? below - 0.5;
  }
  paintPath(pen, row) {
    const width = clamp(0.2 * row, 1.2, 2.4);
    for (const [colour, thick] of [["--paper", width + 2.4], ["--ink", width]]) { // an outline keeps it apart from every fill
      pen.strokeStyle = ink(colour);
      pen.lineWidth = thick;
      for (const pieces of this.path) {
        pen.beginPath();
        pieces.forEach((piece, i) => {
          const y = this.toY(this.rowOf(piece.rank));
          if (i) pen.lineTo(this.toX(pieces[i - 1].to), y); // released there; it left the event later
          pen[i ? "lineTo" : "moveTo"](this.toX(piece.from), y);
          pen.lineTo(this.toX(piece.to), y);
        });
        pen.stroke();
      }
    }
  }
  longest(place) { return Math.max(...Array.from({ length: this.ranks }, (_, rank) => this.value(place, rank, 1))); }
  slowest(places) { // and its neighbours
    const worst = places.reduce((best, place, i) => this.longest(place) > this.longest(places[best]) ? i : best, 0);
    const from = clamp(worst - MOST_CHOSEN / 2, 0, places.length - MOST_CHOSEN);
    return places.slice(from, from + MOST_CHOSEN);
  }
  boxesOf(place) {
    const { kinds, begin, iterations, names } = this.data, found = [], arrivals = kinds[place].map(() => []);
    for (let rank = 0; rank < this.ranks; rank++) {
      let at = begin[place] + this.value(place, rank, 0);
      const over = at + this.value(place, rank, 1);
      const add = (kind, seconds) => {
        if (seconds > 0) found.push({ rank, kind, from: at, to: at + seconds, iteration: iterations[place], place });
        at += seconds;
      };
      kinds[place].forEach((kind, event) => {
        if (!kind) return;
        add(0, this.value(place, rank, 2 + 2 * event));
        arrivals[event][rank] = at;
        add(kind, this.value(place, rank, 3 + 2 * event));
      });
      add(0, Math.max(over - at, 0));
    }
    kinds[place].forEach((kind, event) => { // who comes last, if one does
      if (names[kind] !== "reduction" || this.ranks < 2) return;
      const most = Math.max(...arrivals[event]), rank = arrivals[event].indexOf(most);
      found.push({ rank, last: true, from: most, to: most, place });
    });
    return found;
  }
  toY(value) { return this.box.y + (value + 0.5) / this.ranks * this.box.h; } // rank 0 at the top
  paint(pen, box) {
    const row = box.h / this.ranks;
    for (const each of this.boxes) {
      const left = this.toX(each.from), middle = this.toY(each.rank);
      if (each.last) {
        pen.fillStyle = ink("--ink");
        pen.beginPath();
        for (const [dx, dy] of [[0, 0], [-4, -7], [4, -7]]) pen.lineTo(left + dx, middle - 0.3 * row + dy);
        pen.fill();
        continue;
      }
      const [fill, height] = this.data.looks[each.kind], tall = 0.8 * row * height;
      pen.fillStyle = ink(fill);
      pen.fillRect(left, middle - tall / 2, Math.max(this.toX(each.to) - left, 0.5), tall);
    }
    this.paintPath(pen, row);
    pen.strokeStyle = pen.fillStyle = ink("--quiet");
    pen.lineWidth = 0.6;
    pen.textAlign = "left";
    let free = -Infinity; // where a name hides no other
    for (const place of this.places) {
      const x = this.toX(this.data.begin[place]);
      pen.strokeRect(x, box.y, 0, box.h);
      const name = String(this.data.iterations[place]);
      if (x < free) continue;
      pen.fillText(name, x + 2, box.y + 9);
      free = x + pen.measureText(name).width + 6;
    }
  }
  mark(pen, box) {
    pen.strokeStyle = ink("--accent");
    pen.lineWidth = 1;
    pen.strokeRect(this.toX(this.cursor[0]), box.y, 0, box.h);
  }
  legend() { // of the picture that is downloaded
    const { looks, called, kinds, pieces } = this.data, used = new Set([0, ...kinds.flat().filter(Boolean)]);
    return [...[...used].sort((a, b) => a - b).map((kind) => ({ name: called[kind], colour: looks[kind][0], filled: true, tall: looks[kind][1] })),
      { name: "last to arrive at a reduction", colour: "--ink", sign: "▼" },
      ...(pieces ? [{ name: this.data.path, colour: "--ink" }] : [])];
  }
  steps() { return [(this.view[1] - this.view[0]) / 100, 1 / this.ranks]; }
  xTicks(most) { // from the first moment that is shown
    const from = this.view[0], span = this.view[1] - from, [unit, size] = SECONDS.find(([, one]) => span >= 2 * one) ?? SECONDS.at(-1);
    this.data.x.label = `${unit}, from ${secondsText(from)} after the solve began`;
    return ticks(0, span / size, most).map((at) => [from + at * size, numberText(at)]);
  }
  yTicks(most) { return super.yTicks(Math.max(most, Math.min(this.ranks, ALL_NAMED))); }
  boxAt(x, up) {
    const rank = clamp(Math.floor((1 - up) * this.ranks), 0, this.ranks - 1);
    return this.boxes.find((each) => each.rank === rank && !each.last && each.from <= x && x <= each.to);
  }
  say(x, up) {
    const box = this.boxAt(x, up);
    if (!box) return "between iterations";
    return `iteration ${box.iteration}, rank ${this.data.y.names[box.rank]}: ${this.data.called[box.kind]} ${secondsText(box.to - box.from)}`;
  }
  click(x, up) {
    const box = this.boxAt(x, up);
    if (box) this.show_numbers(box.place);
  }
  show_numbers(place) { // the numbers of one iteration
    const { numbers, iterations, y, kinds } = this.data, first = 2 + 2 * kinds[place].length;
    const times = (rank) => [this.value(place, rank, 1), ...numbers.map((_, at) => this.value(place, rank, first + at))];
    const shown = table(["rank>", "time>", ...numbers.map((name) => `${name}>`)], y.names.map((name, rank) => [name, ...times(rank).map(secondsText)]));
    shown.querySelector("table").prepend(make("caption", {}, `Iteration ${iterations[place]}`));
    this.table.replaceChildren(shown);
  }
  rows() {
    return [["iteration", "rank", "what", "begin_s", "end_s"], ...this.boxes.filter((each) => !each.last)
      .map((each) => [each.iteration, this.data.y.names[each.rank], this.data.called[each.kind], each.from, each.to]),
      ...this.path.flat().map((each) => [each.iteration, String(each.rank), "critical path", each.from, each.to])];
  }
}
KINDS.events = Events;
