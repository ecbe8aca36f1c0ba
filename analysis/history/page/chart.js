/* A series over time: nights, levels with the interval of their mean, trends, outliers and changes. */

const NEAR = 9; // pixels within which something is pointed at

function dateTicks([low, high], most) { // years, months or days, as many as have room
  const span = high - low, found = [];
  const months = [1, 2, 3, 6, 12, 24, 60].find((step) => span / 30.4 / step <= most) ?? 120;
  if (span > 60) {
    const first = new Date(low * 864e5);
    for (let at = Math.ceil((first.getUTCFullYear() * 12 + first.getUTCMonth()) / months) * months; ; at += months) {
      const time = Date.UTC(Math.floor(at / 12), at % 12) / 864e5;
      if (time > high) return found;
      if (time >= low) found.push([time, day(time).slice(0, months % 12 ? 7 : 4)]);
    }
  }
  const step = [1, 2, 7, 14].find((each) => span / each <= most) ?? 28;
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) found.push([at, day(at).slice(span < 330 ? 5 : 0)]);
  return found;
}

const BORDERS = { fail: [2, []], warn: [2, [6, 3]], open: [2, [10, 2]], known: [1.6, [2, 2]], pass: [1, []] };

function borderLine(pen, kind, x, top, height, found = false) { // told apart without colours, too
  const [width, dash] = BORDERS[kind];
  pen.strokeStyle = ink(`--${kind}`);
  pen.lineWidth = found ? 3.5 : width;
  pen.setLineDash(dash);
  pen.beginPath();
  pen.moveTo(x, top);
  pen.lineTo(x, top + height);
  pen.stroke();
  pen.setLineDash([]);
}

class DatedChart extends Chart { // points in time, levels and borders, pointed at one by one
  constructor(figure) {
    super(figure, { kind: "dated", x: { label: "", limits: [0, 1] }, y: { limits: [0, 1] }, points: [], levels: [], borders: [], gaps: [] });
    figure.classList.add("live");
    this.found = null;
  }
  show(data) {
    this.found = null;
    this.data = { kind: "dated", ...data };
    this.view = [...data.x.limits];
    this.point_at(null);
  }
  xTicks(most) { return dateTicks(this.view, most); }
  pin() {}
  rows() { return [["date", "value", "outlier"], ...this.data.points.map((each) => [each.label, each.y, each.hollow ? 1 : 0])]; }
  paint(pen, box) {
    this.canvas.dataset.from = day(this.view[0]);
    const { borders, levels, points, gaps } = this.data, top = box.y, x = (time) => this.toX(time);
    for (const [from, to, text] of gaps) this.gap(pen, x(from), x(to), box, text);
    for (const border of borders) {
      pen.fillStyle = ink("--shade");
      const left = x(border.span[0]), right = x(border.span[1]);
      if (right > left) pen.fillRect(left, top, Math.max(right - left, 2), box.h);
    }
    for (const level of levels) {
      const [low, high] = level.interval;
      pen.fillStyle = ink("--band");
      pen.beginPath();
      const ends = [[level.from, 0], [level.to, 1]];
      for (const [at, end] of ends) pen.lineTo(x(at), this.toY(high[end]));
      for (const [at, end] of [...ends].reverse()) pen.lineTo(x(at), this.toY(low[end]));
      pen.fill();
    }
    for (const point of points) this.dot(pen, point, 0);
    for (const level of levels) {
      pen.strokeStyle = ink(level.trend ? "--line-3" : "--line-2");
      pen.setLineDash(level.trend ? [7, 4] : []);
      pen.lineWidth = 2;
      pen.beginPath();
      pen.moveTo(x(level.from), this.toY(level.ends[0]));
      pen.lineTo(x(level.to), this.toY(level.ends[1]));
      pen.stroke();
    }
    pen.setLineDash([]);
    for (const border of borders) {
      borderLine(pen, border.badge, x(border.x), top, box.h, border === this.found);
    }
    this.captions(pen, box, [...borders].reverse().slice(0, 3).map((border) => ({ x: x(border.x), y: top, text: border.caption, before: true, colour: `--${border.badge}` })).filter(({ text }) => text));
  }
  gap(pen, left, right, box, words) {
    pen.strokeStyle = pen.fillStyle = ink("--line");
    pen.lineWidth = 1;
    pen.beginPath();
    for (let at = left; at < right + box.h; at += 9) {
      pen.moveTo(clamp(at, left, right), box.y + at - clamp(at, left, right));
      pen.lineTo(clamp(at - box.h, left, right), box.y + at - clamp(at - box.h, left, right));
    }
    pen.stroke();
    pen.fillStyle = ink("--quiet");
    pen.textAlign = "center";
    if (pen.measureText(words).width < right - left) pen.fillText(words, (left + right) / 2, box.y + box.h / 2);
  }
  dot(pen, point, bigger) {
    const box = this.box, x = this.toX(point.x), high = this.toY(point.y);
    const y = clamp(high, box.y + 5, box.y + box.h - 4), cut = y !== high;
    pen.beginPath();
    if (cut) { // beyond the axis: an arrow that way
      const way = high < y ? -1 : 1;
      pen.moveTo(x - 4, y - way * 3);
      pen.lineTo(x + 4, y - way * 3);
      pen.lineTo(x, y + way * 4);
      pen.closePath();
    } else pen.arc(x, y, (point.hollow ? 3.2 : 2.2) + bigger, 0, 7);
    if (point.hollow) {
      pen.strokeStyle = ink("--accent");
      pen.lineWidth = 1.4;
      pen.stroke();
    } else {
      pen.fillStyle = ink("--point");
      pen.fill();
    }
  }
  mark(pen) {
    if (this.found && "y" in this.found) {
      this.dot(pen, this.found, 2.5);
      pen.strokeStyle = ink("--ink");
      pen.lineWidth = 1.5;
      pen.beginPath();
      pen.arc(this.toX(this.found.x), clamp(this.toY(this.found.y), this.box.y + 5, this.box.y + this.box.h - 4), 7, 0, 7);
      pen.stroke();
    }
  }
  nearest(x, up) { // a point that is close, or a border that is, or the nearest point
    const box = this.box, at = [this.toX(x), box.y + (1 - up) * box.h];
    const least = (things, far) => things.reduce(([best, thing], each) => {
      const distance = far(each);
      return distance < best ? [distance, each] : [best, thing];
    }, [Infinity, null]);
    const [close, point] = least(this.data.points, (each) =>
      Math.hypot(this.toX(each.x) - at[0], 0.5 * (clamp(this.toY(each.y), box.y, box.y + box.h) - at[1])));
    const [beside, border] = least(this.data.borders, (each) => Math.abs(this.toX(each.x) - at[0]));
    return beside < NEAR && close > NEAR / 2 ? border : point;
  }
  point_at(cursor) {
    if (cursor === null) this.found = null;
    else if (!cursor.found) this.found = this.nearest(...cursor);
    else this.found = cursor.found;
    this.cursor = this.found && [this.found.x, 0.5];
    if (this.found && !(this.view[0] <= this.found.x && this.found.x <= this.view[1])) this.view = [...this.data.x.limits];
    this.words.replaceChildren(...(this.found ? [this.data.say(this.found)].flat() : [this.hint]));
    this.draw();
  }
  moved(key) { // arrows go from point to point, and from border to border
    const across = key === "ArrowLeft" || key === "ArrowRight", forward = key === "ArrowRight" || key === "ArrowUp";
    const things = across || !this.data.borders.length ? this.data.points : this.data.borders;
    const from = this.found?.x ?? (forward ? -Infinity : Infinity), here = things.indexOf(this.found);
    const order = forward ? things : [...things].reverse();
    const next = here >= 0 ? things[here + (forward ? 1 : -1)] : order.find((each) => forward ? each.x > from : each.x < from);
    return { found: next ?? this.found ?? order[0] };
  }
}

function limitsOf(values, outliers, floor = -Infinity) { // outliers may widen them by half, not more
  let low = Math.min(...values), high = Math.max(...values);
  const room = (high - low) || Math.abs(high) * 0.1 || 1;
  for (const value of outliers) {
    low = Math.max(Math.min(low, value), low - room / 2);
    high = Math.min(Math.max(high, value), high + room / 2);
  }
  return [Math.max(floor, low - room * 0.08), high + room * 0.08];
}
function spanOf(xs) {
  const room = Math.max((xs[xs.length - 1] - xs[0]) * 0.02, 0.5);
  return [xs[0] - room, xs[xs.length - 1] + room];
}
const spanOfAll = (all) => spanOf([Math.min(...all.map((each) => each.times[0])), Math.max(...all.map((each) => each.times.at(-1)))]);
function seriesContent(series) {
  const points = series.times.map((x, i) => ({ x, y: series.values[i], i, label: series.labels[i], hollow: series.outlying.has(i) }));
  const plain = points.filter((point) => !point.hollow);
  const levels = series.regimes.map(({ start, stop, ends, trend, interval }) => ({ from: series.times[start], to: series.times[stop - 1], ends, trend,
    interval: interval.map((factor) => ends.map((end) => end * factor)) }));
  const borders = series.changes.map((change) => ({ x: series.times[change.index], badge: change.badge, change, caption: change.caption,
    span: [series.times[Math.max(change.interval[0] - 1, 0)], series.times[change.interval[1]]] }));
  const say = (found) => found.change ? sayChange(found.change) : series.say(found.i);
  const y = limitsOf((plain.length ? plain : points).map((point) => point.y), points.map((point) => point.y), 0);
  return { x: { label: "", limits: spanOf(series.times) }, y: { label: series.axis, limits: y }, points, levels, borders, say, gaps: series.gaps };
}
