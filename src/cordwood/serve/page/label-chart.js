// The learning curve: out-of-fold accuracy by number of labels, with intervals, and the forecast.
const HEIGHT = 200;
const SPACE = { left: 44, right: 14, top: 10, bottom: 40 };

function draw(tag, attributes, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
}

function makeTicks(low, high, most) {
  const raw = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw);
  const ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step / 1e6; tick += step) ticks.push(tick);
  return ticks;
}

export function drawCurve(box, curve, forecast, sentence) {
  box.replaceChildren();
  if (curve.length < 2) return;
  const all = forecast ? [...curve, forecast] : curve;
  const width = box.clientWidth;
  const largest = Math.max(...all.map((point) => point.n));
  const low = Math.max(0, Math.floor(10 * Math.min(...all.map((point) => point.low))) / 10);
  const high = Math.min(1, Math.ceil(10 * Math.max(...all.map((point) => point.high))) / 10);
  const x = (n) => SPACE.left + (n / largest) * (width - SPACE.left - SPACE.right);
  const y = (value) => SPACE.top + ((high - value) / (high - low || 1)) * (HEIGHT - SPACE.top - SPACE.bottom);
  const path = (points, value) => points.map((point) => `${x(point.n).toFixed(1)},${y(value(point)).toFixed(1)}`).join(" ");
  const svg = draw("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": `Learning curve. ${sentence}` });
  for (const tick of makeTicks(low, high, 4)) {
    svg.append(
      draw("line", { x1: SPACE.left, x2: width - SPACE.right, y1: y(tick), y2: y(tick), class: "grid" }),
      draw("text", { x: SPACE.left - 6, y: y(tick) + 4, "text-anchor": "end" }, `${Math.round(100 * tick)} %`),
    );
  }
  for (const tick of makeTicks(0, largest, Math.max(2, width / 120)).filter(Number.isInteger)) {
    svg.append(draw("text", { x: x(tick), y: HEIGHT - SPACE.bottom + 16, "text-anchor": "middle" }, tick.toLocaleString("en")));
  }
  svg.append(
    draw("text", { x: width - SPACE.right, y: HEIGHT - 4, "text-anchor": "end" }, "labels"),
    draw("polygon", { points: `${path(curve, (point) => point.high)} ${path([...curve].reverse(), (point) => point.low)}`, class: "band" }),
    draw("polyline", { points: path(curve, (point) => point.accuracy), class: "line" }),
    ...curve.map((point) => draw("circle", { cx: x(point.n), cy: y(point.accuracy), r: 3.5, class: "dot" })),
  );
  if (forecast) {
    svg.append(
      draw("polyline", { points: path([curve.at(-1), forecast], (point) => point.accuracy), class: "line dashed" }),
      draw("line", { x1: x(forecast.n), x2: x(forecast.n), y1: y(forecast.low), y2: y(forecast.high), class: "line" }),
      draw("circle", { cx: x(forecast.n), cy: y(forecast.accuracy), r: 4.5, class: "ahead" }),
    );
  }
  box.append(svg);
}
