/* Shows two series as pairs of nights. */

const ratio = (log) => Math.exp(log).toPrecision(4);

class RatioChart extends DatedChart {
  yTicks(most) { // round ratios where there are enough, on the logarithmic axis
    const [low, high] = this.data.y.limits.map(Math.exp);
    return ticks(low, high, most).filter((at) => at > 0).map((at) => [Math.log(at), written(at)]);
  }
}
function ratioContent({ pairs, regimes, borders }) {
  const plain = pairs.filter((pair) => !pair.hollow);
  const levels = regimes.map((regime) => ({ from: pairs[regime.start].x, to: pairs[regime.stop - 1].x, trend: false,
    ends: [regime.mean, regime.mean], interval: [[regime.low, regime.low], [regime.high, regime.high]], regime }));
  const lines = borders.map((place) => ({ x: pairs[place].x, span: [pairs[place - 1].x, pairs[place].x], badge: "known", place }));
  const say = (found) => {
    if (!("place" in found)) return `${day(found.x)}: ratio ${ratio(found.y)}, log ratio ${signed(found.y)}${found.hollow ? "; outlier of one of them, left out" : ""}`;
    const [before, after] = [regimes.find((each) => each.stop === found.place), regimes.find((each) => each.start === found.place)];
    return `From ${day(found.x)} on: mean ratio ${before ? ratio(before.mean) : "?"} before, ${after ? ratio(after.mean) : "?"} after`;
  };
  const y = limitsOf([0, ...(plain.length ? plain : pairs).map((pair) => pair.y)], pairs.map((pair) => pair.y));
  return { x: { label: "", limits: spanOf(pairs.map((pair) => pair.x)) }, y: { limits: y }, points: pairs, levels, borders: lines, say };
}
function sayCompared(first, second, { pairs, last, borders }) {
  const [low, high] = [ratio(last.low), ratio(last.high)], certain = last.p < 1 - PAIR_LEVEL;
  const word = first.word[last.mean > 0 ? 0 : 1], many = times(Math.exp(Math.abs(last.mean)));
    const verdict = certain ? `The first is ${many}x ${word} than the second` : "No difference is certain";
  const caveat = last.related ? ` Nights resemble the night before (correlation ${times(last.related)}): that widened the interval and took degrees of freedom.` : "";
  const since = borders.length ? `since the last change of the ratio, ${day(pairs[borders[borders.length - 1]].x)}` : "over all nights";
  return `${verdict} ${since}: mean ratio ${ratio(last.mean)}, 99 % interval ${low} to ${high}; ` +
    `${Number.isNaN(last.t) ? "every night alike" : `t = ${times(last.t)}`} with ${times(last.freedom)} degrees of freedom, p ${probability(last.p)}, ${last.n} nights in pairs.${caveat}`;
}
class ComparisonPanel {
  constructor() {
    this.panel = byId("comparison");
    this.chart = new RatioChart(byId("ratio-chart"));
    legend(byId("ratio-chart"), [["", "ratio of nights, logarithmic:", "axis"], ["●", "night", "night"], ["○", "outlier of either, left out", "outlier"],
      ["▬", "mean and its 99 % interval", "level"], ["┆", "change of the ratio", "known"]]);
    this.histogram = null;
  }
  show(first, second) {
    this.panel.classList.toggle("paired", Boolean(second));
    byId("pair-histogram").replaceChildren();
    this.histogram = null;
    if (!second) return;
    if (first === second) {
      this.panel.classList.remove("paired");
      byId("pair-words").textContent = "This is the same series: choose another one.";
      return;
    }
    const result = compared(first, second), words = byId("pair-words");
    this.panel.dataset.pairs = result.pairs.length;
    if (result.pairs.length < FEWEST_PAIRS || !(result.last.n >= FEWEST_PAIRS)) {
      this.panel.classList.remove("paired");
      words.textContent = `Only ${result.pairs.length} nights have both: there is nothing to compare.`;
      return;
    }
    this.panel.dataset.numbers = JSON.stringify([result.last.mean, result.last.low, result.last.high, result.last.t, result.last.freedom, result.last.p]);
    words.replaceChildren(make("b", {}, first.text), " divided by ", make("b", {}, second.text), make("br"), sayCompared(first, second, result));
    this.chart.show(ratioContent(result));
    this.histogram = new Histogram("Log ratio since the last change", result.last.inside, signed);
    byId("pair-histogram").append(this.histogram.element, make("p", { class: "quiet" },
      "Nights that have both are paired by date; where a night has several runs, by the mean of their logarithms. Borders are the " +
      `changes of either series at which the ratio changes, too (Welch's test below ${BORDER_LEVEL}, the least certain taken away first), ` +
      `and those that the ratio has alone (the same test times the number of places, ${FEWEST_BESIDE} nights on both sides). Outliers of either are left out.`));
    this.draw();
  }
  draw() {
    if (this.panel.classList.contains("paired")) this.chart.draw();
    this.histogram?.draw();
  }
}
