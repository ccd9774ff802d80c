// Small charts of the home page; each card shows its numbers in words too.

import { onTheme, readData, readToken } from "./shell.js";

const HEIGHT = 72;
const SECONDS_PER_DAY = 86_400;
const data = readData("chart-data");

function describe(series, index) {
  const value = data[series][index];
  const unit = series === "p95_ms" ? " ms" : "";
  return `${data.days[index]}: ${value ?? "none"}${value === null ? "" : unit}`;
}

function makeOptions(place, values) {
  const color = readToken(place.dataset.token);
  const isBars = place.dataset.shape === "bars";
  return {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 4, 0, 4],
    scales: {
      x: { time: true, range: (_, low, high) => [low - SECONDS_PER_DAY / 2, high + SECONDS_PER_DAY / 2] },
      y: { range: [0, Math.max(1, ...values.map((value) => value ?? 0)) * 1.1] },
    },
    axes: [
      {
        size: 20,
        gap: 2,
        font: "11px system-ui, sans-serif",
        stroke: readToken("--muted"),
        grid: { show: false },
        ticks: { show: false },
        border: { show: true, width: 1, stroke: readToken("--line") },
        splits: (chart) => chart.data[0],
        values: (_, seconds) =>
          seconds.map((one) => new Date(one * 1000).toLocaleDateString("en", { weekday: "narrow", timeZone: "UTC" })),
      },
      { show: false },
    ],
    series: [
      {},
      {
        stroke: color,
        fill: isBars ? color : undefined,
        width: isBars ? 0 : 2,
        spanGaps: true,
        points: { show: !isBars, size: 6, fill: color },
        paths: isBars ? uPlot.paths.bars({ size: [0.7, 28], radius: 0.15 }) : undefined,
      },
    ],
  };
}

function draw(place) {
  const series = place.dataset.series;
  const days = data.days.map((day) => Date.parse(`${day}T00:00:00Z`) / 1000);
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", data.days.map((_, index) => describe(series, index)).join(", "));
  let chart = null;
  const redraw = () => {
    chart?.destroy();
    chart = new uPlot(makeOptions(place, data[series]), [days, data[series]], place);
  };
  onTheme(redraw);
  new ResizeObserver(() => chart.setSize({ width: place.clientWidth, height: HEIGHT })).observe(place);
}

if (data && globalThis.uPlot) document.querySelectorAll(".chart").forEach(draw);
