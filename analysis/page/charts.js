/* Draws the charts of a page: every <figure class="chart"> holds its numbers as JSON.
   Without this script, or without what it needs, the picture in the figure stays. */
"use strict";
(() => {
  const MARGIN = { left: 54, right: 12, top: 8, bottom: 38 };
  const LIVE = new Map();

  const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
  const written = (value) => Number(value.toPrecision(4)).toLocaleString("en");

  function ticks(low, high, most) {
    const raw = (high - low) / Math.max(1, most) || 1;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= raw * 0.999);
    const found = [];
    for (let at = Math.ceil(low / step); at * step <= high + step * 1e-9; at++) found.push(at * step);
    return found;
  }

  class Chart {
    constructor(figure, data) {
      this.figure = figure;
      this.data = data;
      this.canvas = figure.querySelector("canvas");
      this.words = figure.querySelector(".hover");
      this.hint = this.words.textContent;
      this.view = [...data.x.limits];
      this.cursor = null;
      this.listen();
    }

    get box() {
      const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
      return { x: MARGIN.left, y: MARGIN.top, w: width - MARGIN.left - MARGIN.right,
        h: height - MARGIN.top - MARGIN.bottom };
    }
    toX(value) { return this.box.x + (value - this.view[0]) / (this.view[1] - this.view[0]) * this.box.w; }
    toY(value) {
      const [low, high] = this.data.y.limits;
      return this.box.y + (1 - (value - low) / (high - low)) * this.box.h;
    }
    point(event) {
      const frame = this.canvas.getBoundingClientRect(), box = this.box;
      const across = clamp((event.clientX - frame.left - box.x) / box.w, 0, 1);
      const up = clamp(1 - (event.clientY - frame.top - box.y) / box.h, 0, 0.9999);
      return [this.view[0] + across * (this.view[1] - this.view[0]), up];
    }

    draw() {
      const scale = window.devicePixelRatio || 1;
      this.canvas.width = Math.round(this.canvas.clientWidth * scale);
      this.canvas.height = Math.round(this.canvas.clientHeight * scale);
      const pen = this.canvas.getContext("2d");
      pen.setTransform(scale, 0, 0, scale, 0, 0);
      pen.font = "12px system-ui, sans-serif";
      const box = this.box;
      pen.save();
      pen.beginPath();
      pen.rect(box.x, box.y, box.w, box.h);
      pen.clip();
      this.paint(pen, box, scale);
      if (this.cursor) this.mark(pen, box);
      pen.restore();
      this.axes(pen, box);
      this.canvas.dataset.drawn = this.data.kind;
    }

    axes(pen, box) {
      pen.strokeStyle = pen.fillStyle = ink("--ink");
      pen.lineWidth = 0.8;
      pen.strokeRect(box.x, box.y, 0, box.h);
      pen.strokeRect(box.x, box.y + box.h, box.w, 0);
      pen.textAlign = "center";
      for (const at of ticks(...this.view, box.w / 80)) {
        if (this.data.x.counted && at % 1) continue;
        pen.strokeRect(this.toX(at), box.y + box.h, 0, 4);
        pen.fillText(written(at), this.toX(at), box.y + box.h + 16);
      }
      pen.fillText(this.data.x.label, box.x + box.w / 2, box.y + box.h + 33, box.w + 50);
      pen.textAlign = "right";
      for (const at of ticks(...this.data.y.limits, box.h / 45)) {
        if (this.data.y.counted && at % 1) continue;
        pen.strokeRect(box.x - 4, this.toY(at), 4, 0);
        pen.fillText(written(at), box.x - 7, this.toY(at) + 4);
      }
    }

    point_at(cursor) {
      this.cursor = cursor;
      this.words.textContent = cursor ? this.say(...cursor) : this.hint;
      this.draw();
    }
    zoom(low, high) {
      const [first, last] = this.data.x.limits;
      const least = (last - first) * 1e-4;
      this.view = high - low > least ? [Math.max(low, first), Math.min(high, last)] : [first, last];
      this.draw();
    }

    listen() {
      let from = null;
      this.canvas.addEventListener("pointerdown", (event) => { from = this.point(event)[0]; });
      this.canvas.addEventListener("pointermove", (event) => this.point_at(this.point(event)));
      this.canvas.addEventListener("pointerleave", () => { from = null; this.point_at(null); });
      this.canvas.addEventListener("pointerup", (event) => {
        const [to, up] = this.point(event), moved = Math.abs(this.toX(to) - this.toX(from ?? to));
        if (event.pointerType === "mouse" && moved > 8) this.zoom(Math.min(from, to), Math.max(from, to));
        else keepInAddress(this.figure.id, to, up);
        from = null;
      });
      this.canvas.addEventListener("dblclick", () => this.zoom(0, 0));
      this.canvas.addEventListener("blur", () => this.point_at(null));
      this.canvas.addEventListener("keydown", (event) => {
        const [low, high] = this.view, [x, up] = this.cursor ?? [(low + high) / 2, 0.5];
        const [right, above] = this.steps();
        const moves = { ArrowLeft: [-right, 0], ArrowRight: [right, 0], ArrowUp: [0, above], ArrowDown: [0, -above] };
        const factors = { "+": 0.5, "=": 0.5, "-": 2 };
        if (moves[event.key]) {
          this.point_at([clamp(x + moves[event.key][0], low, high), clamp(up + moves[event.key][1], 0, 0.9999)]);
        } else if (factors[event.key]) {
          const half = (high - low) * factors[event.key] / 2;
          this.zoom(x - half, x + half);
        } else if (event.key === "0" || event.key === "Escape") this.zoom(0, 0);
        else return;
        event.preventDefault();
      });
    }
  }

  class Curves extends Chart {
    steps() { return [(this.view[1] - this.view[0]) / 100, 0.1]; }

    trace(pen, x, y, stepped) {
      y.forEach((value, i) => {
        pen.lineTo(this.toX(x[i]), this.toY(value));
        if (stepped) pen.lineTo(this.toX(x[i + 1]), this.toY(value));
      });
    }
    paint(pen) {
      for (const series of this.data.series) {
        const stepped = series.x.length > series.y.length;
        pen.beginPath();
        this.trace(pen, series.x, series.y, stepped);
        if (series.filled) {
          const base = (series.base ?? series.y.map(() => 0)).slice().reverse();
          this.trace(pen, series.x.slice().reverse(), base, stepped);
          pen.fillStyle = ink(series.colour);
          pen.fill();
        } else {
          pen.lineWidth = 1.8;
          pen.setLineDash(series.dash);
          pen.strokeStyle = ink(series.colour);
          pen.stroke();
          pen.setLineDash([]);
        }
      }
      pen.strokeStyle = pen.fillStyle = ink("--quiet");
      pen.textAlign = "left";
      pen.lineWidth = 0.6;
      let free = -Infinity;
      for (const [name, at] of this.data.marks) {
        pen.strokeRect(this.toX(at), MARGIN.top, 0, this.box.h);
        if (this.toX(at) < free) continue;
        pen.fillText(name, this.toX(at) + 3, MARGIN.top + this.box.h - 4);
        free = this.toX(at) + pen.measureText(name).width + 8;
      }
    }
    mark(pen, box) {
      pen.strokeStyle = ink("--accent");
      pen.lineWidth = 1;
      pen.strokeRect(this.toX(this.cursor[0]), box.y, 0, box.h);
    }
    say(x) {
      const parts = this.data.series.map((series) => {
        const stepped = series.x.length > series.y.length;
        let at = series.x.findIndex((edge) => edge > x) - 1;
        if (at < 0) at = x < series.x[0] ? -1 : series.y.length - 1;
        else if (!stepped && series.x[at + 1] - x < x - series.x[at]) at++;
        const value = series.y[at];
        if (at < 0 || value === undefined) return "";
        const low = series.base ? series.base[at] : 0;
        if (series.look === "band") return `${series.name} ${written(low)} to ${written(value)}`;
        return `${series.name} ${written(value - low)}`;
      });
      const shown = this.data.x.counted ? Math.round(x) : written(x);
      return `${this.data.x.name} ${shown}${this.data.x.unit}: ${parts.filter(Boolean).join(", ")}${this.data.y.unit}`;
    }
  }

  class HeatMap extends Chart {
    constructor(figure, data, codes) {
      super(figure, data);
      this.codes = codes;
      this.colours = data.colours.map((hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));
    }
    steps() {
      const cell = this.data.column_width;
      return [Math.max(cell, (this.view[1] - this.view[0]) / this.box.w), 1 / this.data.rows];
    }
    time(code) { return code ? this.data.least * Math.exp((code - 1) * this.data.log_step) : 0; }
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
      const image = pen.createImageData(width, height), pixel = (this.view[1] - this.view[0]) / width;
      const bands = Array.from({ length: height }, (_, y) => this.rowsAt(1 - (y + 1) / height, 1 - y / height));
      for (let x = 0; x < width; x++) {
        const across = this.columns(this.view[0] + x * pixel, this.view[0] + (x + 1) * pixel);
        let last = "", rgb = null;
        bands.forEach((rows, y) => {
          if (rows.join() !== last) { last = rows.join(); rgb = this.colour(this.time(this.slowest(across, rows))); }
          image.data.set([...rgb, 255], (y * width + x) * 4);
        });
      }
      pen.putImageData(image, Math.round(box.x * scale), Math.round(box.y * scale));
    }
    mark(pen, box) {
      pen.lineWidth = 1;
      for (const [shift, colour] of [[0, "#fff"], [1, "#000"]]) {
        pen.strokeStyle = colour;
        pen.strokeRect(this.toX(this.cursor[0]) + shift, box.y, 0, box.h);
        pen.strokeRect(box.x, box.y + (1 - this.cursor[1]) * box.h + shift, box.w, 0);
      }
    }
    say(x, up) {
      const pixel = (this.view[1] - this.view[0]) / this.box.w;
      const across = this.columns(x, x + pixel), rows = this.rowsAt(up, up + 1e-6);
      const data = this.data, last = Math.min(across[1] * data.bodies_a_column, data.bodies) - 1;
      const body = (at) => data.first_body + at * data.stride;
      const ranks = [rows[0] * data.row_height, Math.min(rows[1] * data.row_height, data.y.limits[1] + 0.5) - 1];
      const range = (word, low, high) => low === high ? `${word} ${low}` : `${word === "body" ? "bodies" : "ranks"} ${low} to ${high}`;
      const one = body(across[0] * data.bodies_a_column) === body(last) && ranks[0] === ranks[1];
      const most = this.time(this.slowest(across, rows));
      return `${range("body", body(across[0] * data.bodies_a_column), body(last))}, ${range("rank", ...ranks)}: ` +
        `${one ? "" : "slowest "}${written(most)} ${data.unit}`;
    }
  }

  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const plain = new DataView(await new Response(stream).arrayBuffer());
    return Uint16Array.from({ length: plain.byteLength / 2 }, (_, i) => plain.getUint16(2 * i, true));
  }
  function keepInAddress(id, x, up) {
    try { history.replaceState(null, "", `#${id}@${x.toPrecision(6)},${up.toFixed(4)}`); } catch { /* not allowed here */ }
  }
  function fromAddress() {
    const found = /^#(chart-\d+)@([-+.e\d]+),([.\d]+)$/.exec(location.hash);
    if (!found || !LIVE.has(found[1])) return;
    document.getElementById(found[1]).scrollIntoView();
    LIVE.get(found[1]).point_at([Number(found[2]), clamp(Number(found[3]), 0, 0.9999)]);
  }
  async function begin(figure) {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const codes = data.kind === "map" ? await unpacked(data.times) : null;
    figure.classList.add("live"); // the canvas must have its size before it is drawn on
    const chart = data.kind === "map" ? new HeatMap(figure, data, codes) : new Curves(figure, data);
    chart.draw();
    LIVE.set(figure.id, chart);
  }
  const redraw = () => LIVE.forEach((chart) => chart.draw());
  const figures = [...document.querySelectorAll("figure.chart")];
  Promise.allSettled(figures.map((figure) => begin(figure).catch(() => figure.classList.remove("live")))).then(() => {
    fromAddress();
    window.addEventListener("hashchange", fromAddress);
    window.addEventListener("resize", redraw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    document.documentElement.dataset.charts = String(LIVE.size);
  });
})();
