/* What the address holds after its #: a place, then what is chosen, as in #chart-2@25,0.5&solver=gmres. */

const inAddress = () => location.hash.slice(1).split("&");
const placeInAddress = () => inAddress()[0];

function chosenInAddress() { // by name
  const pairs = inAddress().slice(1).map((each) => each.split("="));
  return new Map(pairs.map(([name, value = ""]) => { try { return [name, decodeURIComponent(value)]; } catch { return [name, ""]; } }));
}
function setAddress(parts) { // without another entry in the browser's history
  try { history.replaceState(null, "", `#${parts.join("&")}`); } catch { /* not allowed here */ }
}
function choose(name, value) {
  const others = inAddress().filter((each, i) => !i || !each.startsWith(`${name}=`));
  setAddress(value ? [...others, `${name}=${encodeURIComponent(value)}`] : others);
}
const withChosen = (place) => `#${[place.replace(/^#/, ""), ...inAddress().slice(1)].join("&")}`;
const keep = (place) => setAddress([withChosen(place).slice(1)]);
const goTo = (place) => { location.hash = withChosen(place); };
