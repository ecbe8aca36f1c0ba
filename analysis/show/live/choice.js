/* Curves of which one can choose what they are of; an address may choose, too. */

class Choice extends Curves {
  constructor(figure, data, codes) {
    super(figure, data);
    this.heights = Float64Array.from(codes, (code) => unlogged(data, code));
    this.select = figure.querySelector("select");
    this.select.addEventListener("change", () => { this.choose(this.select.value); this.pin(); });
  }
  pin(x, up) {
    if (x !== undefined) super.pin(x, up);
    else keep(`#${this.figure.id}=${this.select.value}`);
  }
  choose(key) {
    const chosen = this.data.keys.indexOf(key), steps = this.data.series[0].y.length;
    if (chosen < 0) return;
    this.select.value = key;
    let base = new Array(steps).fill(0);
    this.data.series.forEach((series, k) => {
      const from = (chosen * this.data.series.length + k) * steps;
      const heights = [...this.heights.slice(from, from + steps)];
      if (!series.filled) series.y = heights;
      else {
        series.base = base;
        series.y = base = heights.map((height, i) => height + base[i]);
      }
    });
    this.point_at(this.cursor);
  }
}
KINDS.choice = Choice;
