/* All series, small; each is drawn when it comes on the screen. */

class Grid {
  constructor(all) {
    this.room = byId("grid");
    this.span = spanOfAll(all); // the same dates stand below each other
    this.cells = [...all].sort((a, b) => (b.newest > a.newest) - (b.newest < a.newest)).map((series) => this.cell(series));
    this.seen = new IntersectionObserver((entries) =>
      this.drawAll(entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target)), { rootMargin: "200px" });
    this.room.append(...this.cells);
    this.cells.forEach((cell) => this.seen.observe(cell));
    byId("grid-badge").addEventListener("change", () => this.filter());
    byId("grid-words").addEventListener("input", () => this.filter());
    this.filter();
  }
  cell(series) {
    const last = series.changes[series.changes.length - 1];
    const none = series.too_short ? "too short to judge" : series.trends.length ? "no step, but a drift" : "no change";
    const told = last ? `${day(series.times[last.index])} ${signed(last.effect[0])} %` : none;
    const cell = make("a", { class: "cell", href: `#${series.address}` }, make("span", { class: "cell-name" }, badge(series.badge), ` ${bare(series.timer)}`),
      make("span", { class: "quiet" }, [series.machine, series.case].filter(Boolean).join(" ")), make("canvas", { "aria-hidden": "true" }), make("span", { class: "quiet" }, told));
    cell.series = series;
    return cell;
  }
  filter() {
    const kind = byId("grid-badge").value, words = byId("grid-words").value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const cell of this.cells) {
      cell.hidden = Boolean(kind && cell.series.badge !== kind) || !words.every((word) => cell.series.text.toLowerCase().includes(word));
      count += !cell.hidden;
    }
    byId("grid-count").textContent = `${count} of ${this.cells.length} series`;
  }
  choose(series) {
    for (const cell of this.cells) {
      if (cell.series === series) cell.setAttribute("aria-current", "true");
      else cell.removeAttribute("aria-current");
    }
  }
  drawAll(cells) { // all sizes first: a canvas that gets another size makes the browser lay out the page anew
    const sizes = cells.map((cell) => cell.querySelector("canvas")).map((canvas) => [canvas.clientWidth, canvas.clientHeight]);
    cells.forEach((cell, i) => { if (sizes[i][0]) this.drawOne(cell, ...sizes[i]); });
  }
  drawOne(cell, width, height) {
    const { series } = cell, canvas = cell.querySelector("canvas");
    const pen = sheet(canvas, width, height), [first, last] = this.span;
    const plain = series.values.filter((_, i) => !series.outlying.has(i));
    const [low, high] = limitsOf(plain.length ? plain : series.values, series.values);
    const x = (time) => (time - first) / (last - first) * width, y = (value) => clamp(1 - (value - low) / (high - low), 0.03, 0.97) * height;
    pen.fillStyle = ink("--point");
    series.values.forEach((value, i) => { if (!series.outlying.has(i)) pen.fillRect(x(series.times[i]) - 0.7, y(value) - 0.7, 1.5, 1.5); });
    pen.fillStyle = ink("--accent");
    for (const i of series.outlying) pen.fillRect(x(series.times[i]) - 1, y(series.values[i]) - 1, 2, 2);
    for (const change of series.changes) borderLine(pen, change.badge, x(series.times[change.index]), 0, height);
    pen.lineWidth = 1.5;
    for (const regime of series.regimes) {
      pen.strokeStyle = ink(regime.trend ? "--line-3" : "--line-2");
      pen.beginPath();
      for (const i of [regime.start, regime.stop - 1]) pen.lineTo(x(series.times[i]), y(series.expected(regime, i)));
      pen.stroke();
    }
    cell.dataset.drawn = "yes";
  }
  redraw(everything = false) {
    this.drawAll(this.cells.filter((cell) => everything || cell.dataset.drawn));
  }
}
