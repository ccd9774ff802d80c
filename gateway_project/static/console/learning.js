// Charts of the learning room; the tables beside them have the same numbers.

import { onTheme, readData, readToken } from "./shell.js";

const HEIGHT = 240;

function drawChart(place, label, data, options) {
  let chart = null;
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", label);
  const draw = () => {
    chart?.destroy();
    const axis = { stroke: readToken("--muted"), grid: { stroke: readToken("--line"), width: 1 }, ticks: { show: false } };
    chart = new uPlot(
      {
        width: place.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { show: false },
        ...options(axis),
      },
      data,
      place,
    );
  };
  onTheme(draw);
  new ResizeObserver(() => chart.setSize({ width: place.clientWidth, height: HEIGHT })).observe(place);
}

function drawCalibration(place, bins) {
  const xs = [0, ...bins.map((bin) => bin.confidence), 1];
  const right = [null, ...bins.map((bin) => bin.share_right), null];
  drawChart(place, "Stated confidence against the share that was right; the diagonal is perfect", [xs, xs, right], (axis) => ({
    scales: { x: { time: false, range: [0, 1] }, y: { range: [0, 1] } },
    axes: [
      { ...axis, label: "stated confidence", labelSize: 20, size: 30 },
      { ...axis, label: "were right", labelSize: 20, size: 40 },
    ],
    series: [
      {},
      { stroke: readToken("--line-strong"), dash: [4, 4], points: { show: false } },
      { stroke: readToken("--chart-1"), width: 2, points: { show: true, size: 8, fill: readToken("--chart-1") } },
    ],
  }));
}

function drawThreshold(place, changes) {
  const times = [...changes.map((change) => change.at), Date.now() / 1000];
  const values = changes.map((change) => change.value);
  drawChart(place, "The threshold over time", [times, [...values, values[values.length - 1]]], (axis) => ({
    scales: { x: { time: true }, y: { range: [0.5, 1] } },
    axes: [axis, { ...axis, size: 44 }],
    series: [
      {},
      { stroke: readToken("--chart-1"), width: 2, paths: uPlot.paths.stepped({ align: 1 }), points: { show: true, size: 6 } },
    ],
  }));
}

const calibration = document.querySelector("[data-calibration]");
if (calibration) drawCalibration(calibration, readData("calibration"));
const threshold = document.querySelector("[data-threshold]");
if (threshold) drawThreshold(threshold, readData("threshold"));
