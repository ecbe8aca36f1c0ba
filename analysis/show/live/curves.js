/* Lines, steps, areas, bands and points. */

class Curves extends Chart {
  steps() { return [(this.view[1] - this.view[0]) / 100, 0.1]; }

  stretches(values) { // [first, after the last] between gaps
    const edges = [-1, ...[...values.keys()].filter((i) => values[i] === null), values.length];
    return edges.slice(1).map((to, k) => [edges[k] + 1, to]).filter(([from, to]) => from < to);
  }
  trace(pen, x, y, stepped, joined = false) { // a line that nothing joins over gaps
    y.forEach((value, i) => {
      if (value === null || x[i] === null) {
        joined = false;
        return;
      }
      pen[joined ? "lineTo" : "moveTo"](this.toX(x[i]), this.toY(value));
      joined = true;
      if (stepped) pen.lineTo(this.toX(x[i + 1]), this.toY(value));
    });
  }
  paint(pen) {
    for (const series of this.data.series) {
      const stepped = series.x.length > series.y.length;
      if (series.look === "points" || series.look === "bars") {
        if (series.look === "bars") this.bars(pen, series);
        else this.dots(pen, series);
        continue;
      }
      if (series.filled) {
        const base = series.base ?? series.y.map(() => 0);
        pen.fillStyle = ink(series.colour);
        for (const [from, to] of this.stretches(series.y)) { // each closed by itself
          const x = series.x.slice(from, to + stepped);
          pen.beginPath();
          this.trace(pen, x, series.y.slice(from, to), stepped);
          this.trace(pen, x.reverse(), base.slice(from, to).reverse(), stepped, true);
          pen.fill();
        }
      } else {
        pen.beginPath();
        this.trace(pen, series.x, series.y, stepped);
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
    const rows = [[], []]; // names stand in two rows, in the lower one if there is room
    for (const [name, at] of this.data.marks) {
      const x = this.toX(at), width = pen.measureText(name).width;
      pen.strokeRect(x, MARGIN.top, 0, this.box.h);
      const begin = x + 3 + width < MARGIN.left + this.box.w ? x + 3 : x - width - 3; // beside its line
      const row = rows.findIndex((names) => names.every(([from, to]) => begin >= to || begin + width + 8 <= from));
      if (row < 0) continue;
      pen.fillText(name, begin, MARGIN.top + this.box.h - 4 - 14 * row);
      rows[row].push([begin, begin + width + 8]);
    }
    const callouts = this.data.callouts ?? [];
    pen.strokeStyle = ink("--accent");
    for (const { x } of callouts) pen.strokeRect(this.toX(x), MARGIN.top, 0, this.box.h);
    this.captions(pen, this.box, callouts.map(({ x, text }) => ({ x: this.toX(x), y: MARGIN.top, text })));
  }
  bars(pen, series) {
    const width = 0.7 * (this.toX(1) - this.toX(0));
    pen.fillStyle = ink(series.colour);
    series.y.forEach((value, i) => {
      if (value === null) return;
      const top = this.toY(value), bottom = this.toY(series.base?.[i] ?? 0);
      pen.fillRect(this.toX(series.x[i]) - width / 2, top, width, bottom - top);
    });
  }
  /* Open marks of growing size and other corners, so that one on another are both seen. */
  dots(pen, series) {
    const radius = 3 + 1.5 * series.mark;
    const corners = [24, 4, 3, 4, 3, 6][series.mark % 6];
    const turned = series.mark === 1 ? Math.PI / 4 : -Math.PI / 2;
    pen.strokeStyle = ink(series.colour);
    pen.lineWidth = 1.4;
    series.y.forEach((value, i) => {
      if (value === null) return;
      pen.beginPath();
      for (let corner = 0; corner < corners; corner++) {
        const angle = turned + (2 * Math.PI * corner) / corners;
        pen.lineTo(this.toX(series.x[i]) + radius * Math.cos(angle), this.toY(value) + radius * Math.sin(angle));
      }
      pen.closePath();
      pen.stroke();
    });
  }
  rows() { // the numbers that are drawn, of logarithmic axes too
    const { x, y, series } = this.data, plain = (axis, value) => value === null || value === undefined ? null : plainOn(axis, value);
    const heads = ["series", `${x.name}${x.unit}`, `${x.name}_to`, `y${y.unit}`, "y_from"];
    return [heads, ...series.flatMap((each) => each.y.map((value, i) => [each.name, x.names?.[each.x[i]] ?? plain(x, each.x[i]),
      each.x.length > each.y.length ? plain(x, each.x[i + 1]) : null, plain(y, value), each.base ? plain(y, each.base[i]) : null]))];
  }
  mark(pen, box) {
    pen.strokeStyle = ink("--accent");
    pen.lineWidth = 1;
    pen.strokeRect(this.toX(this.cursor[0]), box.y, 0, box.h);
  }
  say(x) {
    const parts = this.data.series.map((series) => {
      if (series.look === "points" && !this.data.x.logarithmic && !series.x.includes(Math.round(x))) return "";
      const stepped = series.x.length > series.y.length;
      let at = series.x.findIndex((edge) => edge > x) - 1;
      if (at < 0) at = x < series.x[0] ? -1 : series.y.length - 1;
      else if (!stepped && series.x[at + 1] - x < x - series.x[at]) at++;
      const value = series.y[at], { y } = this.data;
      if (at < 0 || value === undefined || value === null) return "";
      const low = series.base ? series.base[at] : 0;
      if (series.look === "band") return `${series.name} ${shownOn(y, low)} to ${shownOn(y, value)}`;
      return `${series.name} ${y.logarithmic ? shownOn(y, value) : numberText(value - low)}`;
    });
    const { counted, names } = this.data.x, place = Math.round(x);
    const shown = counted ? names[place] ?? place : shownOn(this.data.x, x);
    return `${this.data.x.name} ${shown}${this.data.x.unit}: ${parts.filter(Boolean).join(", ")}${this.data.y.unit}`;
  }
}
KINDS.curves = Curves;
