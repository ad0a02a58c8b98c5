// The whole journal as a small chart: how many requests and how many errors when. The part that is shown is marked; another is
// chosen by drawing over it.

import uPlot from "../vendor/uplot/uPlot.esm.js";
import { colour } from "../core/theme.js";

const HEIGHT_PX = 44;
const BUCKET_PX = 4;

export class Overview {
  // `choose(from, to)` is called with the places of a part that was drawn.
  constructor(element, choose) {
    this.element = element;
    this.choose = choose;
    this.plot = null;
    this.drawn = [];
  }

  // Show the requests of these lines between two places, and what is shown of them.
  update(lines, axis, whole, shown) {
    const width = this.element.clientWidth;
    if (width < 10) return;
    if (this.plot === null) this.plot = new uPlot(this.options(width), [[], [], []], this.element);
    if (this.plot.width !== width) this.plot.setSize({ width, height: HEIGHT_PX });
    const inputs = [lines, axis, whole.from, whole.to, width];
    if (inputs.some((each, at) => each !== this.drawn[at])) {
      this.drawn = inputs;
      this.plot.setData(buckets(lines, axis, whole, Math.floor(width / BUCKET_PX)));
    }
    const left = Math.max(0, this.plot.valToPos(shown.from, "x"));
    const right = Math.min(width, this.plot.valToPos(shown.to, "x"));
    this.plot.setSelect({ left, width: Math.max(3, right - left), top: 0, height: HEIGHT_PX }, false);
  }

  // The theme is another one.
  retheme() {
    this.plot?.redraw();
  }

  options(width) {
    const bars = uPlot.paths.bars({ size: [1], gap: 1 });
    return {
      width,
      height: HEIGHT_PX,
      padding: [4, 0, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
      scales: {
        x: { time: false, range: (_plot, from, to) => [from, to] },
        y: { range: (_plot, _low, high) => [0, Math.max(high, 1)], distr: 1 },
      },
      axes: [{ show: false }, { show: false }],
      series: [
        {},
        { paths: bars, points: { show: false }, fill: () => colour("--bar"), width: 0 },
        { paths: bars, points: { show: false }, fill: () => colour("--bar-bad"), width: 0 },
      ],
      hooks: { setSelect: [(plot) => this.chosen(plot)] },
    };
  }

  chosen(plot) {
    const { left, width } = plot.select;
    if (width > 2) this.choose(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
  }
}

// [places, requests, requests with errors] of so many parts.
function buckets(lines, axis, whole, number) {
  const size = Math.max(1, (whole.to - whole.from) / number);
  const places = Array.from({ length: number }, (_, at) => whole.from + (at + 0.5) * size);
  const requests = new Array(number).fill(0);
  const errors = new Array(number).fill(0);
  for (const line of lines) {
    if (line.kind !== "request") continue;
    const at = Math.min(number - 1, Math.max(0, Math.floor((axis.place(line.mono_ms) - whole.from) / size)));
    requests[at] += 1;
    if (line.errors.length) errors[at] += 1;
  }
  return [places, requests.map(Math.sqrt), errors.map(Math.sqrt)]; // so that single ones can be seen beside thousands
}
