/* All series over time, a cell a night: how much worse than the best level that the series had until then. */

const MOST_ROWS = 400, ROW = 11; // pixels
const RANKED = ["fail", "warn", "open", "known", "pass", "unknown"];

class Matrix {
  constructor(all, go) {
    const worst = (series) => RANKED.indexOf(series.badge);
    this.figure = byId("matrix-chart");
    this.canvas = this.figure.querySelector("canvas");
    this.words = this.figure.querySelector(".hover");
    this.hint = this.words.textContent;
    this.series = [...all].sort((a, b) => worst(a) - worst(b) || b.newest - a.newest || 0).slice(0, MOST_ROWS);
    this.whole = this.span = spanOfAll(all);
    this.canvas.style.height = `${this.series.length * ROW + 26}px`;
    if (all.length > MOST_ROWS) byId("matrix-left").textContent = ` ${all.length - MOST_ROWS} more series are found by the search below.`;
    this.figure.classList.add("live");
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => { this.words.textContent = this.hint; });
    this.canvas.addEventListener("click", (event) => { const [series] = this.at(event); if (series) go(series); });
  }
  show(days) { // the last days; returns where they begin
    this.span = [Math.max(this.whole[0], this.whole[1] - days), this.whole[1]];
    this.draw();
    return this.span[0];
  }
  get left() { return clamp(this.canvas.clientWidth * 0.3, 60, 340); }
  get across() { return this.canvas.clientWidth - this.left - 8; }
  x(time) { return this.left + (time - this.span[0]) / (this.span[1] - this.span[0]) * this.across; }
  draw() {
    const pen = sheet(this.canvas, this.canvas.clientWidth, this.canvas.clientHeight), night = Math.max(this.across / (this.span[1] - this.span[0]), 1);
    pen.font = "10px system-ui, sans-serif";
    this.series.forEach((series, row) => {
      const y = row * ROW;
      pen.fillStyle = ink(series.badge === "pass" || series.badge === "unknown" ? "--quiet" : "--ink");
      pen.textAlign = "right";
      pen.fillText(cut(pen, `${series.badge === "pass" ? "" : `${series.badge}: `}${series.text}`, this.left - 10), this.left - 6, y + ROW - 2);
      series.times.forEach((time, i) => {
        if (time < this.span[0]) return;
        const dark = Number(series.worse[i]) / 9;
        for (const [colour, alpha] of [["--line", 1], ["--accent", dark]]) {
          Object.assign(pen, { globalAlpha: alpha, fillStyle: ink(colour) });
          pen.fillRect(this.x(time) - night / 2, y + 0.5, night + 0.3, ROW - 1);
        }
      });
      pen.globalAlpha = 1;
      Object.assign(pen, { strokeStyle: ink("--fail"), lineWidth: 1.5 });
      for (const time of series.failed.filter((each) => each >= this.span[0])) {
        const x = this.x(time), [top, bottom] = [y + 2.5, y + ROW - 2.5];
        pen.beginPath();
        for (const [from, to] of [[top, bottom], [bottom, top]]) { pen.moveTo(x - 3, from); pen.lineTo(x + 3, to); }
        pen.stroke();
      }
      for (const change of series.changes.filter((each) => series.times[each.index] >= this.span[0])) borderLine(pen, change.badge, this.x(series.times[change.index]), y + 0.5, ROW - 1);
    });
    pen.fillStyle = ink("--quiet");
    pen.textAlign = "center";
    pen.font = "12px system-ui, sans-serif";
    for (const [at, text] of dateTicks(this.span, this.across / 80)) pen.fillText(text, this.x(at), this.series.length * ROW + 16);
    Object.assign(this.canvas.dataset, { drawn: "matrix", from: day(this.span[0]) });
  }
  at(event) {
    const box = this.canvas.getBoundingClientRect(), series = this.series[Math.floor((event.clientY - box.top) / ROW)];
    if (!series) return [];
    const away = series.times.map((time) => Math.abs(this.x(time) - (event.clientX - box.left)));
    return [series, away.indexOf(Math.min(...away))];
  }
  point(event) {
    const [series, i] = this.at(event);
    this.words.textContent = series ? `${series.text}, ${series.say(i)}` : this.hint;
  }
}
