/* Maps of times. Whatever shares a pixel is pooled by its maximum, so no detour disappears. */

const MOST_MARKED = 40;

class HeatMap extends Chart {
  take(data, codes) {
    Object.assign(this, { data, codes, painted: null, marked: null });
    this.colours = data.colours.map((hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));
  }
  named(row) { return this.data.y.names[row] ?? String(row); }
  /* Cells far beyond the colours, the longest first: colours alone would hide them. */
  get detours() {
    if (this.marked) return this.marked;
    const { columns, rows, colour_limits: [, high], far_beyond: factor } = this.data, found = [];
    for (let at = 0; at < columns * rows; at++) {
      const code = this.codes[at];
      if (this.time(code) > factor * high) found.push([code, at]);
    }
    this.marked = found.sort((a, b) => b[0] - a[0]).slice(0, MOST_MARKED).map(([, at]) => [Math.floor(at / rows), at % rows]);
    return this.marked;
  }
  steps() {
    const cell = this.data.column_width;
    return [Math.max(cell, (this.view[1] - this.view[0]) / this.box.w), 1 / this.data.rows];
  }
  time(code) { return unlogged(this.data, code); }
  columns(low, high) {
    const { column_width: width, columns } = this.data, first = this.data.x.limits[0];
    const from = clamp(Math.floor((low - first) / width + 1e-6), 0, columns - 1);
    return [from, clamp(Math.ceil((high - first) / width - 1e-6), from + 1, columns)];
  }
  rowsAt(low, high) {
    const { rows, row_height: height } = this.data, ranks = this.data.y.limits[1] - this.data.y.limits[0];
    const from = clamp(Math.floor(low * ranks / height + 1e-6), 0, rows - 1);
    return [from, clamp(Math.ceil(high * ranks / height - 1e-6), from + 1, rows)];
  }
  slowest([left, right], [below, above]) {
    let most = 0;
    for (let c = left; c < right; c++)
      for (let r = below; r < above; r++) most = Math.max(most, this.codes[c * this.data.rows + r]);
    return most;
  }
  colour(time) {
    const [low, high] = this.data.colour_limits, last = this.colours.length - 1;
    const at = clamp((time - low) / (high - low), 0, 1) * last, i = Math.min(Math.floor(at), last - 1);
    return [0, 1, 2].map((k) => this.colours[i][k] + (at - i) * (this.colours[i + 1][k] - this.colours[i][k]));
  }
  paint(pen, box, scale) {
    const width = Math.max(1, Math.round(box.w * scale)), height = Math.max(1, Math.round(box.h * scale));
    const key = [width, height, ...this.view].join();
    if (this.painted !== key) this.image = this.pixels(pen, width, height);
    this.painted = key;
    pen.putImageData(this.image, Math.round(box.x * scale), Math.round(box.y * scale));
    for (const [column, row] of this.detours) {
      const x = this.toX(this.data.x.limits[0] + (column + 0.5) * this.data.column_width);
      const y = this.toY((row + 0.5) * this.data.row_height - 0.5);
      for (const [thick, colour] of [[3.2, "#fff"], [1.4, "#000"]]) {
        Object.assign(pen, { lineWidth: thick, strokeStyle: colour });
        pen.beginPath();
        pen.arc(x, y, 4.5, 0, 2 * Math.PI);
        pen.stroke();
      }
    }
  }
  pixels(pen, width, height) {
    const image = pen.createImageData(width, height), pixel = (this.view[1] - this.view[0]) / width;
    const bands = Array.from({ length: height }, (_, y) => this.rowsAt(1 - (y + 1) / height, 1 - y / height));
    for (let x = 0; x < width; x++) {
      const across = this.columns(this.view[0] + x * pixel, this.view[0] + (x + 1) * pixel);
      let last = [-1, -1], rgb = null;
      bands.forEach((rows, y) => {
        if (rows[0] !== last[0] || rows[1] !== last[1]) rgb = this.colour(this.time(this.slowest(across, rows)));
        last = rows;
        image.data.set([...rgb, 255], (y * width + x) * 4);
      });
    }
    return image;
  }
  zoom(low, high) { // the timeline of the same run follows
    super.zoom(low, high);
    const [first, last] = this.data.x.limits, other = this.figure.closest("section")?.querySelector('[data-kind="events"]');
    if (other && (this.view[0] > first || this.view[1] < last)) LIVE.get(other.id)?.choose(`${Math.max(Math.ceil(this.view[0]), 0)}-${Math.floor(this.view[1])}`);
  }
  follow([first, last]) { // the iterations of which a timeline shows the events
    this.followed = [first, last];
    this.figure.dataset.followed = JSON.stringify(this.followed);
    this.draw();
  }
  /* What was found: arrows at its ranks, small triangles over its iterations, and words. */
  handles(pen, box) {
    const { callouts, x: { limits } } = this.data, triangle = (x, y, corners) => {
      pen.beginPath();
      for (const [dx, dy] of [[0, 0], ...corners]) pen.lineTo(x + dx, y + dy);
      pen.fill();
    };
    const inside = (x) => x >= box.x - 1 && x <= box.x + box.w + 1;
    pen.fillStyle = pen.strokeStyle = ink("--accent");
    for (const { rows, iterations } of callouts) {
      for (const row of rows) triangle(box.x + box.w + 3, this.toY(row), [[11, -6], [11, 6]]);
      for (const x of iterations.map((at) => this.toX(at)).filter(inside)) triangle(x, box.y, [[-3, -6], [3, -6]]);
    }
    const clear = (this.toY(0) - this.toY(1)) / 2 + 3; // beside its row
    this.captions(pen, box, callouts.filter(({ text }) => text).map(({ rows, text }) => ({ x: box.x + box.w, y: this.toY(rows[0]), text, clear })));
    if (!this.followed || this.followed[1] - this.followed[0] >= limits[1] - limits[0] - 1) return;
    const [left, right] = [this.followed[0] - 0.5, this.followed[1] + 0.5].map((at) => clamp(this.toX(at), box.x, box.x + box.w));
    if (right <= box.x || left >= box.x + box.w) return;
    Object.assign(pen, { fillStyle: ink("--ink"), textAlign: "center" });
    pen.fillRect(left, box.y + box.h + 1, Math.max(right - left, 3), 3);
  }
  rows() { // a row for every column of the map, as it travels: the slowest of what was pooled
    const { rows, columns, row_height: height, bodies, bodies_a_column: width, first_body: first, stride } = this.data;
    const called = (row) => { const at = row * height; return `rank ${this.named(at)}${height > 1 ? " and next" : ""} [${this.data.unit}]`; };
    const heads = ["iteration", "iteration_to", ...Array.from({ length: rows }, (_, row) => called(row))];
    return [heads, ...Array.from({ length: columns }, (_, c) => [first + c * width * stride, first + (Math.min((c + 1) * width, bodies) - 1) * stride,
      ...Array.from({ length: rows }, (_, row) => Number(general(this.time(this.slowest([c, c + 1], [row, row + 1])), 4)))])];
  }
  mark(pen, box) {
    pen.lineWidth = 1;
    for (const [shift, colour] of [[0, "#fff"], [1, "#000"]]) {
      pen.strokeStyle = colour;
      pen.strokeRect(this.toX(this.cursor[0]) + shift, box.y, 0, box.h);
      pen.strokeRect(box.x, box.y + (1 - this.cursor[1]) * box.h + shift, box.w, 0);
    }
  }
  /* Where a click opens something: ranks stand along the height. */
  handle(rank, box) { return [box.x + box.w - 4, this.along(rank) + 3]; }
  along(rank) { return this.toY(rank); }
  at(x, up) { return this.box.y + (1 - up) * this.box.h; }
  rangeOf([low, high]) {
    return low === high ? `rank ${this.named(low)}` : `ranks ${this.named(low)} to ${this.named(high)}`;
  }
  say(x, up) {
    const pixel = (this.view[1] - this.view[0]) / this.box.w;
    const across = this.columns(x, x + pixel), rows = this.rowsAt(up, up + 1e-6);
    const data = this.data, last = Math.min(across[1] * data.bodies_a_column, data.bodies) - 1;
    const body = (at) => data.first_body + at * data.stride;
    const ranks = [rows[0] * data.row_height, Math.min(rows[1] * data.row_height, data.y.limits[1] + 0.5) - 1];
    const range = (low, high) => low === high ? `iteration ${low}` : `iterations ${low} to ${high}`;
    const one = body(across[0] * data.bodies_a_column) === body(last) && ranks[0] === ranks[1];
    const most = this.time(this.slowest(across, rows));
    return `${range(body(across[0] * data.bodies_a_column), body(last))}, ${this.rangeOf(ranks)}: ` +
      `${one ? "" : `${data.highest} `}${data.unit === "%" ? percentText(most / 100, 0) : secondsText(most)}`;
  }
}
KINDS.map = HeatMap;
