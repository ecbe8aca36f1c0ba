/* How numbers are written for people: as hindmost.text writes them, which a test compares. */

const HUGE = 1e6, MOST_PLAIN = 1e12, MANY_S = 1e4;
const SECONDS = [["s", 1], ["ms", 1e-3], ["us", 1e-6], ["ns", 1e-9]], LONGER = [["d", 86400], ["h", 3600]];

function rounded(value, decimals, exponent = false) { // of two that are as near, to the even digit, as Python does
  const write = (count) => exponent ? value.toExponential(count) : value.toFixed(count);
  const [, whole, places, power] = /^(-?\d+\.)(\d+)(.*)$/.exec(write(100)) ?? ["", "", "", ""];
  const kept = (whole + places.slice(0, decimals)).replace(/\.$/, "");
  return /^50*$/.test(places.slice(decimals)) && Number(kept.at(-1)) % 2 === 0 ? kept + power : write(decimals);
}
function general(value, digits, zeros = false) { // significant digits, as "%.4g" and "%#.4g"
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  const [mantissa, power] = rounded(value, digits - 1, true).split("e"), exponent = Number(power);
  const plain = exponent >= -4 && exponent < digits;
  const text = plain ? rounded(value, digits - 1 - exponent) : mantissa;
  const short = zeros || !text.includes(".") ? text : text.replace(/\.?0+$/, "");
  return plain ? short : `${short}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}
const grouped = (text) => text.replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));

function numberText(value) {
  const short = general(value, 4), size = Math.abs(Number(short));
  return size >= 1e4 && size < MOST_PLAIN ? grouped(rounded(Number(short), 0)) : short;
}
function unitText(value, units) {
  if (!Number.isFinite(value)) return `${general(value, 6)} ${units[0][0]}`;
  const [sign, size] = units.find(([, one]) => Math.abs(value) >= 0.9995 * one) ?? units.at(-1), scaled = value / size;
  return `${Math.abs(scaled) >= 99.95 ? rounded(scaled, 0) : general(scaled, 3, true)} ${sign}`;
}
function secondsText(value) {
  if (Math.abs(value) >= MANY_S && Number.isFinite(value)) return unitText(value, LONGER);
  return value === 0 ? "0 s" : unitText(value, SECONDS);
}
const quantityText = (value, unit) => unit === "s" ? secondsText(value) : `${numberText(value)} ${unit}`.trimEnd();
function percentText(share, decimals = 1, sign = "") {
  const value = 100 * share, number = Math.abs(value) >= HUGE ? general(value, 3) : rounded(value, decimals);
  return `${sign && !number.startsWith("-") ? sign : ""}${number} %`;
}
function tickText(at, step) { // in as many digits as tell it from the next tick
  const digits = at ? Math.ceil(Math.log10(Math.abs(at) / step)) + 1 : 1;
  if (digits <= 4 || Math.abs(at) >= MOST_PLAIN) return numberText(at);
  return grouped(rounded(at, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9))));
}
const unbroken = (text) => text.replace(/(\d) (?=%|[munµ]?s\b)/g, "$1\u00a0"); // no line breaks between a number and its unit
const day = (time) => new Date(Math.floor(time) * 864e5).toISOString().slice(0, 10); // of days since 1970, UTC
const clock = (time) => new Date(time).toLocaleTimeString(); // of the viewer
