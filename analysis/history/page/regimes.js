/* The regimes of a series: level, interval, and the histogram of their nights. */

function regimesPart(series, level) {
  const drawn = [];
  const cards = [...series.regimes].reverse().map((regime) => {
    const card = make("article", { class: "regime" }, make("h4", {}, regime.title), make("p", {}, regime.text[level]));
    if (regime.histogram) {
      const canvas = make("canvas", { role: "img", "aria-label": `Values of ${regime.title}` });
      const figure = make("figure", { class: "chart live" }, canvas, make("p", { class: "hover quiet" }));
      card.append(figure);
      drawn.push([figure, regime.histogram]);
    }
    return card;
  });
  let charts = null;
  const draw = () => { // when they are on the page, and have a size
    charts ??= drawn.map(([figure, data]) => new Curves(figure, data));
    for (const chart of charts) chart.draw();
  };
  return { element: make("div", { class: "regimes" }, ...cards), draw };
}
