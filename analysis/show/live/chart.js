/* What curves and maps share: axes, pointing, zooming, the keyboard. */

const KINDS = {}; // classes of charts by their names in the data
const WITHIN = 8; // pixels from what can be clicked
const MARGIN = { left: 54, right: 20, top: 8, bottom: 38 };

const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
function ticks(low, high, most) {
  const raw = (high - low) / Math.max(1, most) || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= raw * 0.999);
  const found = [];
  for (let at = Math.ceil(low / step); at * step <= high + step * 1e-9; at++) found.push(at * step);
  return found;
}

/* Names at whole places from 0 on, as many as there is room for. */
function everySo(names, most) {
  const every = Math.max(1, Math.ceil(names.length / Math.max(1, most)));
  return [...names.entries()].filter(([at]) => at % every === 0);
}
/* Those that are never left out, such as of the culprit, take the place of their neighbours. */
function keeping(shown, kept, [low, high], most) {
  const there = kept.filter(([at]) => at >= low && at <= high), room = (high - low) / Math.max(1, most) / 2;
  return [...shown.filter(([at]) => there.every(([place]) => Math.abs(place - at) >= room)), ...there];
}
/* Values of a logarithmic axis are decimal logarithms. */
const plainOn = (axis, value) => axis.logarithmic ? 10 ** value : value;
const shownOn = (axis, value) => numberText(plainOn(axis, value));
function decades(low, high, most) {
  const found = [];
  for (let power = Math.floor(low); power <= high; power++)
    for (const factor of [1, 2, 5]) found.push(power + Math.log10(factor));
  const inside = found.filter((at) => at >= low && at <= high);
  const whole = inside.filter((at) => Number.isInteger(at));
  return inside.length <= Math.max(most, 3) || whole.length < 2 ? inside : whole;
}
function numbered(axis, limits, most) {
  const given = axis.ticks?.filter((at) => at >= limits[0] && at <= limits[1]) ?? [];
  if (given.length > 1) return everySo(given, most + 1).map(([, at]) => [at, shownOn(axis, at)]);
  if (axis.logarithmic) return decades(...limits, most).map((at) => [at, shownOn(axis, at)]);
  if (axis.names?.length) {
    const [low, high] = [Math.max(0, Math.ceil(limits[0])), Math.floor(limits[1])];
    const names = axis.names.slice(low, high + 1);
    const letters = Math.max(...names.map((name) => name.length)); // one of them stands in 8 of 80 pixels
    const room = axis.upright ? most : most * 80 / (8 * letters + 12);
    return keeping(everySo(names, room).map(([at, name]) => [at + low, name]), axis.kept ?? [], limits, room);
  }
  const found = ticks(...limits, most).filter((at) => !axis.counted || at % 1 === 0), step = found[1] - found[0] || 1;
  return keeping(found.map((at) => [at, tickText(at, step)]), axis.kept ?? [], limits, most);
}

function linesOf(pen, text, room) { // broken between words
  const lines = [];
  for (const word of text.split(" ")) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && pen.measureText(longer).width <= room) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}
function cut(pen, text, room) { // in its middle, as its ends tell names apart
  while (text.length > 8 && pen.measureText(text).width > room) text = `${text.slice(0, text.length / 2 - 1)}…${text.slice(text.length / 2 + 1)}`;
  return text;
}

class Chart {
  constructor(figure, data, codes) {
    this.figure = figure;
    this.canvas = figure.querySelector("canvas");
    this.words = figure.querySelector(".hover");
    this.hint = this.words.textContent;
    this.cursor = null;
    this.take(data, codes);
    this.view = [...data.x.limits];
    this.listen();
    if (typeof addDownloads !== "undefined") addDownloads(this);
  }

  take(data) { this.data = data; }
  show(data, codes) { // other data; who had zoomed sees the same part of them
    const [low, high] = this.data.x.limits, whole = this.view[0] === low && this.view[1] === high;
    this.take(data, codes);
    if (whole) this.view = [...data.x.limits];
    this.point_at(this.cursor);
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
    this.drawWith(sheet(this.canvas, this.canvas.clientWidth, this.canvas.clientHeight), scale);
    this.canvas.dataset.drawn = this.data.kind;
  }
  drawWith(pen, scale) {
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
    this.handles(pen, box);
  }

  axes(pen, box) {
    pen.strokeStyle = pen.fillStyle = ink("--ink");
    pen.lineWidth = 0.8;
    pen.strokeRect(box.x, box.y, 0, box.h);
    pen.strokeRect(box.x, box.y + box.h, box.w, 0);
    pen.textAlign = "center";
    for (const [at, text] of this.xTicks(box.w / 80)) {
      pen.strokeRect(this.toX(at), box.y + box.h, 0, 4);
      pen.fillText(text, this.toX(at), box.y + box.h + 16);
    }
    const { title } = this.data.y; // below the numbers
    pen.fillText(cut(pen, this.data.x.label, box.w + (title ? -8 : 30)), box.x + box.w / 2, box.y + box.h + 33);
    pen.textAlign = "right";
    if (title) pen.fillText(title, box.x - 7, box.y + box.h + 33);
    for (const [at, text] of this.yTicks(box.h / 36)) {
      pen.strokeRect(box.x - 4, this.toY(at), 4, 0);
      pen.fillText(text, box.x - 7, this.toY(at) + 4);
    }
  }
  /* Words next to places, inside the axes and none over another: what was found, where it is. */
  captions(pen, box, items) { // clear: pixels around y that are left free
    const taken = [];
    pen.textAlign = "left";
    for (const { x, y, text, colour = "--ink", clear = 0, before = false } of items) {
      const lines = linesOf(pen, text, box.w - 12), wide = Math.max(...lines.map((line) => pen.measureText(line).width)) + 8, high = 15 * lines.length + 2;
      const fits = before ? x - wide < box.x : x + 5 + wide < box.x + box.w;
      const left = clamp(fits ? x + 5 : x - wide, box.x + 3, box.x + box.w - wide), under = y + clear;
      let top = clamp(!clear ? y - high / 2 : under + high < box.y + box.h ? under : y - clear - high, box.y + 2, box.y + box.h - high - 1);
      const other = () => taken.find(([begin, end, above, below]) => left < end && begin < left + wide && top < below && above < top + high);
      for (let tries = 0; other() && tries < items.length; tries++) top = other()[3];
      if (top + high > box.y + box.h) continue;
      taken.push([left, left + wide, top, top + high]);
      Object.assign(pen, { fillStyle: ink("--paper"), strokeStyle: ink(colour), lineWidth: 1 });
      pen.fillRect(left - 2, top, wide, high);
      pen.strokeRect(left - 2, top, wide, high);
      pen.fillStyle = ink(colour);
      lines.forEach((line, row) => pen.fillText(line, left + 2, top + 12 + 15 * row));
    }
  }
  xTicks(most) { return numbered(this.data.x, this.view, most); }
  yTicks(most) { return numbered(this.data.y, this.data.y.limits, most); }

  /* Small triangles where a click opens something. */
  handles(pen, box) {
    pen.fillStyle = ink("--accent");
    for (const place of this.data.opens?.places ?? []) {
      const [x, y] = this.handle(place, box);
      if (x < box.x || x > box.x + box.w) continue;
      pen.beginPath();
      for (const [dx, dy] of [[0, 0], [-4, -6], [4, -6]]) pen.lineTo(x + dx, y + dy);
      pen.fill();
    }
  }
  handle(place, box) { return [this.toX(place), box.y + 6]; }
  point_at(cursor) {
    this.cursor = cursor && [clamp(cursor[0], ...this.view), clamp(cursor[1], 0, 0.9999)];
    const opened = cursor && this.opened(...this.cursor);
    this.words.textContent = cursor ? this.say(...this.cursor) + (opened ? "; a click or Enter opens its timeline" : "") : this.hint;
    this.canvas.style.cursor = opened ? "pointer" : "";
    this.draw();
  }
  moved(key, x, up) {
    const [right, above] = this.steps();
    const by = { ArrowLeft: [-right, 0], ArrowRight: [right, 0], ArrowUp: [0, above], ArrowDown: [0, -above] }[key];
    return [x + by[0], up + by[1]];
  }
  pin(x, up) { keep(`#${this.figure.id}@${general(x, 6)},${general(up, 4)}`); }
  /* The address that a click near here opens, if any. */
  along(place) { return this.toX(place); }
  at(x) { return this.toX(x); }
  opened(x, up) {
    const { places, addresses } = this.data.opens ?? { places: [] };
    const away = places.map((place) => Math.abs(this.along(place) - this.at(x, up)));
    const nearest = away.indexOf(Math.min(...away));
    return away[nearest] <= Math.max(WITHIN, Math.abs(this.along(0.5) - this.along(0))) ? addresses[nearest] : null;
  }
  click(x, up) {
    const address = this.opened(x, up);
    if (address) goTo(address);
    else this.pin(x, up);
  }
  zoom(low, high) {
    const [first, last] = this.data.x.limits;
    const least = (last - first) * 1e-4;
    this.view = high - low > least ? [Math.max(low, first), Math.min(high, last)] : [first, last];
    this.draw();
  }

  scale(x, factor, at = (x - this.view[0]) / (this.view[1] - this.view[0])) { // a share of the view stays left of x
    const span = (this.view[1] - this.view[0]) * factor;
    this.zoom(x - at * span, x + (1 - at) * span);
  }
  move(by) {
    const [first, last] = this.data.x.limits, room = clamp(by, first - this.view[0], last - this.view[1]);
    if (room) this.zoom(this.view[0] + room, this.view[1] + room);
  }
  listen() {
    let from = null;
    this.canvas.addEventListener("pointerdown", (event) => { from = this.point(event)[0]; });
    this.canvas.addEventListener("pointermove", (event) => this.point_at(this.point(event)));
    this.canvas.addEventListener("pointerleave", () => { from = null; this.point_at(null); });
    this.canvas.addEventListener("pointerup", (event) => {
      const [to, up] = this.point(event), moved = Math.abs(this.toX(to) - this.toX(from ?? to));
      if (event.pointerType === "mouse" && moved > 8) this.zoom(Math.min(from, to), Math.max(from, to));
      else this.click(to, up);
      from = null;
    });
    this.canvas.addEventListener("wheel", (event) => { // with Ctrl, as pages scroll without
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.scale(this.point(event)[0], event.deltaY < 0 ? 0.8 : 1.25);
    }, { passive: false });
    this.canvas.addEventListener("dblclick", () => this.zoom(0, 0));
    this.canvas.addEventListener("blur", () => this.point_at(null));
    this.canvas.addEventListener("keydown", (event) => {
      const [low, high] = this.view, [x, up] = this.cursor ?? [(low + high) / 2, 0.5];
      const factors = { "+": 0.5, "=": 0.5, w: 0.5, "-": 2, s: 2 }, moves = { a: -0.25, d: 0.25 };
      if (event.key === "Enter") this.click(x, up);
      else if (event.key.startsWith("Arrow")) this.point_at(this.moved(event.key, x, up));
      else if (factors[event.key]) this.scale(x, factors[event.key], 0.5);
      else if (moves[event.key]) this.move(moves[event.key] * (high - low));
      else if (event.key === "0" || event.key === "Escape") this.zoom(0, 0);
      else return;
      event.preventDefault();
    });
  }
}
