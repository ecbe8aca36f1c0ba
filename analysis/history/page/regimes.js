/* The regimes of a series: level, interval, and histograms. */

const outliers = (count) => count === 1 ? "1 outlier" : `${count} outliers`;

function regimesPart(series, chosenLevel) {
  const unit = series.unit ? ` ${series.unit}` : "", level = ["90 %", "99 %"][chosenLevel], drawn = [];
  const cards = [...series.regimes].reverse().map((regime) => {
    const [low, high] = regime.intervals[chosenLevel], inside = series.inside(regime);
    const unfolded = (inside.length < 5 ? [] : [["values", inside], ["logarithms", inside.map(Math.log)]]).map(([name, values]) => {
      const histogram = new Histogram(name, values);
      drawn.push(histogram);
      return histogram.element;
    });
    return make("article", { class: "regime" },
      make("h4", {}, dates(series, [regime.start, regime.stop - 1]), regime.trend ? " (trend)" : regime.switching ? " (switches between two levels)" : ""),
      make("p", {}, `mean ${written(regime.mean)}${unit}, ${level} interval ${written(low)} to ${written(high)}; ` +
        `noise ${times(regime.deviation)} %, ${regime.n < inside.length ? `level of ${regime.n} of ${inside.length} nights` : `${regime.n} nights`}${inside.length < regime.stop - regime.start ? ` and ${outliers(regime.stop - regime.start - inside.length)}` : ""}`),
      make("div", { class: "histograms" }, ...unfolded));
  });
  const draw = () => { // all sizes first, as each drawing may lay out the page anew
    const sizes = drawn.map((each) => each.size);
    drawn.forEach((each, i) => each.draw(sizes[i]));
  };
  return { element: make("div", { class: "regimes" }, ...cards), draw };
}
