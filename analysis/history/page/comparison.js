/* Shows two series as pairs of nights. */

const ratio = (log) => Math.exp(log).toPrecision(4);

class RatioChart extends DatedChart {
  yTicks(most) { // round ratios where there are enough, on the logarithmic axis
    const [low, high] = this.data.y.limits.map(Math.exp);
    return ticks(low, high, most).filter((at) => at > 0).map((at) => [Math.log(at), written(at)]);
  }
}
function ratioContent({ pairs, found, regimes, borders }) {
  const plain = pairs.filter((pair) => !pair.hollow);
  const levels = regimes.map((regime) => ({ from: pairs[regime.start].x, to: pairs[regime.stop - 1].x, trend: false,
    ends: [regime.mean, regime.mean], interval: [[regime.low, regime.low], [regime.high, regime.high]], regime }));
  const lines = borders.map((place, i) => ({ x: pairs[place].x, span: found.spans[i], badge: "known", place }));
  const say = (here) => {
    if (!("place" in here)) return `${day(here.x)}: ratio ${ratio(here.y)}, log ratio ${signed(here.y)}${here.hollow ? "; outlier, omitted" : ""}`;
    const [before, after] = [regimes.find((each) => each.stop === here.place), regimes.find((each) => each.start === here.place)];
    return `From ${day(here.x)} on: mean ratio ${before ? ratio(before.mean) : "?"} before, ${after ? ratio(after.mean) : "?"} after`;
  };
  const y = limitsOf([0, ...(plain.length ? plain : pairs).map((pair) => pair.y)], pairs.map((pair) => pair.y));
  return { x: { label: "", limits: spanOf(pairs.map((pair) => pair.x)) }, y: { limits: y }, points: pairs, levels, borders: lines, say };
}
function sayCompared(first, { pairs, found, drift, last, borders }) {
  const [low, high] = [ratio(last.low), ratio(last.high)], certain = found.p !== null && found.p < 0.05;
  const word = first.word[last.mean > 0 ? 0 : 1], many = times(Math.exp(Math.abs(last.mean)));
  const verdict = certain ? `The first is ${many}x ${word} than the second` : "The two do not differ significantly";
  const caveat = found.related ? ` Serial correlation (${times(found.related)}) widened the interval.` : "";
  const drifts = drift === null ? "" : ` The ratio drifts by ${signed(drift)} %.`;
  const since = borders.length ? `since the last change of the ratio, ${day(pairs[borders[borders.length - 1]].x)}` : "over all nights";
  const test = found.p === null ? "too few nights for an interval" :
    `${found.level} % interval ${low} to ${high}; p ${probability(found.p)}, ${times(found.freedom)} degrees of freedom`;
  return `${verdict} ${since}: ${drift === null ? "mean ratio" : "ratio at the end of its drift"} ${ratio(last.mean)}, ${test}, ${last.inside.length} paired nights.${caveat}${drifts}`;
}
class ComparisonPanel {
  constructor(page) {
    this.page = page;
    this.panel = byId("comparison");
    this.chart = new RatioChart(byId("ratio-chart"));
    legend(byId("ratio-chart"), [["", "ratio of nights, logarithmic:", "axis"], ["●", "night", "night"], ["○", "outlier, omitted", "outlier"],
      ["▬", "mean and its 90 % interval", "level"], ["┆", "change of the ratio", "known"]]);
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
    const result = compared(this.page, first, second), words = byId("pair-words");
    this.panel.dataset.pairs = result.pairs.length;
    if (result.pairs.length < FEWEST_PAIRS) {
      this.panel.classList.remove("paired");
      words.textContent = `Only ${result.pairs.length} nights have both series: too few to compare.`;
      return;
    }
    const named = [make("b", {}, first.text), " divided by ", make("b", {}, second.text), make("br")];
    this.chart.show(ratioContent(result));
    if (!result.found) {
      delete this.panel.dataset.numbers;
      words.replaceChildren(...named, `${result.pairs.length} paired nights. This page does not contain this ratio; ` +
        "'hindmost compare A B' gives it; a page of fewer series, as with --timer, contains it.");
    } else {
      this.panel.dataset.numbers = JSON.stringify([result.last.mean, result.last.low, result.last.high, result.found.freedom, result.found.p]);
      words.replaceChildren(...named, sayCompared(first, result));
      this.histogram = new Histogram("Log ratio since the last change", result.last.inside, signed);
      byId("pair-histogram").append(this.histogram.element, make("p", { class: "quiet" },
        "Nights are paired by date; several runs of a night count as the mean of their logarithms. Changes, outliers, " +
        "means and intervals of the ratio are those of 'hindmost compare'."));
    }
    this.draw();
  }
  draw() {
    if (this.panel.classList.contains("paired")) this.chart.draw();
    this.histogram?.draw();
  }
}
