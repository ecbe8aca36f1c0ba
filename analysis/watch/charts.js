/* Charts of a run that goes on: each is drawn anew from all frames, which are few. */

const PHASE_INKS = ["--fill-1", "--line-1", "--fill-0", "--fill-2", "--line-3", "--line-4", "--line-2", "--line-5", "--line-0"];
const CIVIDIS = ["#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#fee838"]
  .map((hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));
const phaseInk = (place) => ink(PHASE_INKS[place % PHASE_INKS.length]);

function shade(share) {
  const at = clamp(share, 0, 1) * (CIVIDIS.length - 1), i = Math.min(Math.floor(at), CIVIDIS.length - 2);
  return `rgb(${[0, 1, 2].map((k) => Math.round(CIVIDIS[i][k] + (at - i) * (CIVIDIS[i + 1][k] - CIVIDIS[i][k]))).join()})`;
}
function duration(s) {
  if (s >= 90) {
    const minutes = Math.floor(s / 60);
    return minutes >= 60 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${minutes} min ${Math.round(s % 60)} s`;
  }
  const [size, unit] = [[1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"]].find(([each]) => s >= each) || [1, "s"];
  return `${Number((s / size).toPrecision(3))} ${unit}`;
}

class Timed { // a chart over the time of the solve; frames lie side by side, each as long as its window
  constructor(id) {
    this.figure = byId(id);
    this.canvas = this.figure.querySelector("canvas");
    this.words = this.figure.querySelector(".hover");
    this.frames = [];
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => { this.words.textContent = ""; });
  }
  get box() {
    return { x: 46, y: 6, w: this.canvas.clientWidth - 56, h: this.canvas.clientHeight - 32 };
  }
  get end() { return this.frames.length ? this.frames.at(-1).t_ns : 1; }
  span(i) { return [i ? this.frames[i - 1].t_ns : 0, this.frames[i].t_ns].map((t) => this.box.x + t / this.end * this.box.w); }
  show(head, frames) {
    this.head = head;
    this.frames = frames;
    const pen = sheet(this.canvas, this.canvas.clientWidth, this.canvas.clientHeight), box = this.box;
    if (box.w <= 0) return;
    frames.forEach((frame, i) => this.column(pen, frame, ...this.span(i)));
    pen.fillStyle = ink("--quiet");
    pen.font = "12px system-ui, sans-serif";
    pen.fillRect(box.x, box.y + box.h, box.w, 1);
    pen.textAlign = "center";
    for (const at of ticks(0, this.end * 1e-9, box.w / 90))
      pen.fillText(`${written(at)} s`, clamp(box.x + at * 1e9 / this.end * box.w, box.x, box.x + box.w - 10), box.y + box.h + 18);
    pen.textAlign = "right";
    this.axis(pen, box);
  }
  at(event) {
    const frame = this.canvas.getBoundingClientRect(), box = this.box;
    const t = (event.clientX - frame.left - box.x) / box.w * this.end, up = 1 - (event.clientY - frame.top - box.y) / box.h;
    const found = this.frames.find((each) => each.t_ns >= t);
    return found && t >= 0 && up >= 0 && up < 1 ? [found, up] : [];
  }
}

class Profile extends Timed {
  column(pen, frame, left, right) {
    const { y, h } = this.box;
    let base = 0;
    frame.phase_ns.forEach((ns, place) => {
      const share = ns / Math.max(frame.window_ns, 1);
      pen.fillStyle = phaseInk(place);
      pen.fillRect(left, y + h * (1 - base - share), Math.max(right - left, 0.5) + 0.3, h * share);
      base += share;
    });
  }
  axis(pen, { x, y, h }) {
    for (const at of [0, 0.5, 1]) pen.fillText(`${at * 100} %`, x - 5, y + h * (1 - at) + 4);
  }
  point(event) {
    const [frame] = this.at(event);
    this.words.textContent = frame ? `${duration(frame.t_ns * 1e-9)}, iteration ${frame.iteration.toLocaleString("en")}: `
      + this.head.phases.map((name, place) => `${name} ${(frame.phase_ns[place] / frame.window_ns * 100).toFixed(1)} %`).join(", ") : "";
  }
  key(head) {
    this.figure.querySelector(".legend").replaceChildren(...head.phases.map((name, place) => {
      const swatch = make("span", { class: "swatch" });
      swatch.style.background = phaseInk(place);
      return make("li", {}, swatch, name);
    }));
  }
}

class Ranks extends Timed {
  show(head, frames) {
    this.metric = frames.at(-1)?.metric;
    this.full = Math.max(1, ...frames.filter((each) => each.metric === this.metric).map((each) => Math.max(...each.heat)));
    super.show(head, frames);
  }
  column(pen, frame, left, right) {
    if (frame.metric !== this.metric) return; // viewers have chosen another since
    const { y, h } = this.box, step = h / frame.heat.length;
    frame.heat.forEach((share, row) => {
      pen.fillStyle = shade(share / this.full);
      pen.fillRect(left, y + h - (row + 1) * step, Math.max(right - left, 0.5) + 0.3, step + 0.3);
    });
  }
  ranks(row) {
    const first = Math.ceil(row * this.head.ranks / this.head.columns);
    const last = Math.ceil((row + 1) * this.head.ranks / this.head.columns) - 1;
    return first >= last ? `rank ${first}` : `ranks ${first} to ${last}`;
  }
  axis(pen, { x, y, h }) {
    pen.fillText("0", x - 5, y + h);
    pen.fillText(String(this.head.ranks - 1), x - 5, y + 10);
  }
  point(event) {
    const [frame, up] = this.at(event);
    if (!frame) { this.words.textContent = ""; return; }
    const row = Math.floor(up * frame.heat.length);
    this.words.textContent = `${duration(frame.t_ns * 1e-9)}, ${this.ranks(row)}: ${this.head.metrics[frame.metric]} ${(frame.heat[row] / 10).toFixed(1)} %`;
  }
  key(head, frame) {
    this.figure.querySelector(".legend").replaceChildren(
      make("li", {}, `${frame ? head.metrics[frame.metric] : ""}: 0 % `, make("span", { class: "scale" }), ` ${(this.full / 10).toFixed(1)} %`),
      make("li", { class: "axis" }, "rank upwards, time to the right"));
  }
}

function drawTimes(figure, head, frame) { // bins of logarithms; counts, too, so that one slow iteration is seen
  const canvas = figure.querySelector("canvas"), width = canvas.clientWidth, height = canvas.clientHeight;
  const pen = sheet(canvas, width, height), floor = height - 22, most = Math.log1p(Math.max(1, ...frame.bins));
  const per = head.bins_an_octave, edge = (n) => head.least_ns * 2 ** Math.floor(n / per) * (1 + (n % per) / per);
  const step = (width - 20) / Math.max(frame.bins.length, 1);
  pen.font = "12px system-ui, sans-serif";
  frame.bins.forEach((count, i) => {
    const high = floor * Math.log1p(count) / most;
    pen.fillStyle = ink("--fill-2");
    if (count) pen.fillRect(10 + i * step, floor - high, Math.max(step - 1, 1), high);
    if ((frame.first_bin + i) % (per * 2) === 0 && 10 + i * step < width - 60) {
      pen.fillStyle = ink("--quiet");
      pen.fillText(duration(edge(frame.first_bin + i) * 1e-9), 10 + i * step, height - 5);
    }
  });
  pen.fillStyle = ink("--quiet");
  pen.fillRect(10, floor, width - 20, 1);
  const all = frame.bins.reduce((a, b) => a + b, 0);
  figure.querySelector(".hover").textContent = `${all.toLocaleString("en")} iterations of ranks, from ${duration(edge(frame.first_bin) * 1e-9)} to ${duration(edge(frame.first_bin + frame.bins.length) * 1e-9)}; heights are logarithms of counts`;
}
