/* Lines, steps, areas and bands. */

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
