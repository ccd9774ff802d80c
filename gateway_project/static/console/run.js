// The page of a run, as it goes: states, graph, timeline and events.

import { follow, formatDuration, makeBadge, refreshParts, settle } from "./live.js";
import { onTheme, readData, readToken } from "./shell.js";

const MAX_EVENTS = 200;
const MAX_SPANS = 60;
const REFRESH_MS = 600;
const PADDING = 16; // around the graph, in pixels
const MIN_HEIGHT = 160;
const MAX_HEIGHT = 560;
const MARKS = {
  pending: "○",
  running: "▶",
  waiting_approval: "◆",
  succeeded: "✓",
  failed: "✕",
  skipped: "–",
  cancelled: "–",
  unknown: "?",
};
const SHAPES = {
  failed: "octagon",
  unknown: "octagon",
  waiting_approval: "cut-rectangle",
};
const TOKENS = {
  running: ["--info-soft", "--info"],
  waiting_approval: ["--warn-soft", "--warn"],
  succeeded: ["--ok-soft", "--ok"],
  failed: ["--bad-soft", "--bad"],
  unknown: ["--bad-soft", "--bad"],
};
const SVG = "http://www.w3.org/2000/svg";

const page = document.querySelector("[data-follow]");
const table = page.querySelector("[data-tasks]");
const graph = drawGraph(page.querySelector("[data-graph]"), readData("run-graph"));
const refreshSoon = settle(refreshParts, REFRESH_MS);
let lastSeq = Number(page.dataset.lastSeq);
let known = page.dataset.stamp;

function describeNode(node) {
  const word = node.status.replace("_", " ");
  return `${MARKS[node.status] ?? "○"} ${node.label}\n${node.tool}\n${word}`;
}

function drawGraph(place, picture) {
  if (!place || !picture || !window.cytoscape) return null;
  const nodes = picture.nodes.map((node) => ({ data: { ...node, text: describeNode(node) } }));
  const edges = picture.edges.map((edge) => ({ data: edge }));
  const drawn = cytoscape({
    container: place,
    elements: { nodes, edges },
    style: makeStyle(), // the layout needs the size of nodes
    layout: { name: "dagre", rankDir: "LR", nodeSep: 16, rankSep: 48, padding: PADDING },
    maxZoom: 1.5,
    userZoomingEnabled: false,
    autoungrabify: true,
    boxSelectionEnabled: false,
  });
  onTheme(() => drawn.style(makeStyle()));
  // As high as its tasks need at full size, so that they stay legible.
  const needed = drawn.elements().boundingBox().h + 2 * PADDING;
  place.style.height = `${Math.min(Math.max(needed, MIN_HEIGHT), MAX_HEIGHT)}px`;
  new ResizeObserver(() => drawn.resize().fit(undefined, PADDING)).observe(place);
  return drawn;
}

function makeStyle() {
  const color = (status, index) => readToken((TOKENS[status] ?? ["--surface", "--line-strong"])[index]);
  return [
    {
      selector: "node",
      style: {
        label: "data(text)",
        shape: (node) => SHAPES[node.data("status")] ?? "round-rectangle",
        width: 150,
        height: 58,
        "text-wrap": "wrap",
        "text-max-width": 140,
        "text-overflow-wrap": "anywhere",
        "text-valign": "center",
        "text-halign": "center",
        "font-size": 11,
        "font-family": "system-ui, sans-serif",
        color: readToken("--text"),
        "background-color": (node) => color(node.data("status"), 0),
        "border-color": (node) => color(node.data("status"), 1),
        "border-width": 2,
        "border-style": (node) => (node.data("status") === "pending" ? "dashed" : "solid"),
      },
    },
    {
      selector: "edge",
      style: {
        width: 1.5,
        "line-color": readToken("--line-strong"),
        "target-arrow-color": readToken("--line-strong"),
        "target-arrow-shape": "triangle",
        "curve-style": "bezier",
      },
    },
  ];
}

function makeKey(task) {
  return task.item === undefined ? task.task : `${task.task}[${task.item}]`;
}

function makeRow(key, task) {
  const row = document.createElement("tr");
  row.dataset.task = key;
  const head = document.createElement("th");
  head.scope = "row";
  head.textContent = key;
  row.append(head);
  for (const part of ["status", "tool", "attempts", "took", "result"]) {
    const cell = document.createElement("td");
    cell.dataset.part = part;
    if (part === "result") cell.dataset.refresh = `result ${key}`;
    if (part === "attempts" || part === "took") cell.className = "number";
    row.append(cell);
  }
  const tool = document.createElement("span");
  tool.className = "untrusted";
  tool.textContent = task.tool;
  row.querySelector("[data-part=tool]").append(tool);
  table.append(row);
  return row;
}

function showTask(task) {
  const key = makeKey(task);
  const row = table.querySelector(`tr[data-task="${CSS.escape(key)}"]`) ?? makeRow(key, task);
  row.querySelector("[data-part=status]").replaceChildren(makeBadge(task.status));
  row.querySelector("[data-part=attempts]").textContent = String(task.attempts);
  row.querySelector("[data-part=took]").textContent = formatDuration(task.duration_ms);
  const result = row.querySelector("[data-part=result]");
  const size = task.result_bytes;
  const stamp = `${task.status} ${task.attempts} ${size}`;
  if (result.dataset.stamp !== stamp && (size !== null || task.error_code)) {
    const link = document.createElement("a");
    link.href = "";
    link.textContent = task.error_code ? `${task.error_code.replaceAll("_", " ")}: show` : `${size} bytes: show`;
    result.replaceChildren(link);
  }
  result.dataset.stamp = stamp;
  if (task.item !== undefined || !graph) return;
  const node = graph.getElementById(task.task);
  if (node.nonempty()) {
    node.data("status", task.status);
    node.data("text", describeNode(node.data()));
  }
}

function makeBar(call, whole) {
  const row = document.createElement("li");
  row.className = "bars__row";
  const label = document.createElement("span");
  label.className = "bars__label";
  label.textContent = makeKey(call);
  label.title = call.tool;
  const axis = document.createElementNS(SVG, "svg");
  axis.setAttribute("class", "bars__axis");
  axis.setAttribute("viewBox", "0 0 100 8");
  axis.setAttribute("preserveAspectRatio", "none");
  axis.setAttribute("aria-hidden", "true");
  const bar = document.createElementNS(SVG, "rect");
  bar.setAttribute("class", `bar bar--${call.status}`);
  bar.setAttribute("x", String((100 * call.start_ms) / whole));
  bar.setAttribute("y", "0");
  bar.setAttribute("width", String(Math.max(0.4, (100 * (call.end_ms - call.start_ms)) / whole)));
  bar.setAttribute("height", "8");
  axis.append(bar);
  const took = document.createElement("span");
  took.className = "bars__took number";
  took.textContent = call.status === "unknown" ? "unknown" : formatDuration(call.end_ms - call.start_ms);
  row.append(label, axis, took);
  return row;
}

function showTimeline(timeline) {
  const place = page.querySelector("[data-timeline]");
  if (!timeline.calls.length) return;
  const list = document.createElement("ul");
  list.className = "bars";
  const whole = timeline.elapsed_ms || 1;
  list.append(...timeline.calls.slice(0, MAX_SPANS).map((call) => makeBar(call, whole)));
  const saving = document.createElement("p");
  saving.className = "muted";
  saving.textContent =
    `${formatDuration(timeline.elapsed_ms)} in all. One after another, the calls would have taken ` +
    `${formatDuration(timeline.sequential_ms)}.`;
  place.replaceChildren(list, saving);
}

function showEvents(events) {
  const list = page.querySelector("[data-events]");
  for (const event of events) {
    if (event.seq <= lastSeq) continue;
    lastSeq = event.seq;
    const row = document.createElement("li");
    const kind = document.createElement("span");
    kind.textContent = event.kind.replaceAll("_", " ");
    const about = document.createElement("span");
    about.className = "muted";
    about.textContent = ` #${event.seq}, ${new Date(event.at).toLocaleTimeString()}`;
    row.append(kind);
    if (event.task) {
      const task = document.createElement("span");
      task.className = "untrusted";
      task.textContent = event.task;
      row.append(" ", task);
    }
    row.append(about);
    list.prepend(row);
  }
  while (list.children.length > MAX_EVENTS) list.lastElementChild.remove();
  page.dataset.lastSeq = String(lastSeq);
}

function showRun(run) {
  page.querySelector("[data-part=status]").replaceChildren(makeBadge(run.status));
  const waits = run.waits_for.map((approval) => approval.id).join(" ");
  const stamp = `${run.status} ${run.version} ${waits}`;
  if (known !== stamp) refreshSoon();
  known = stamp;
  showTimeline(run.timeline);
}

function apply(message) {
  if (message.is_reset) {
    location.reload();
    return;
  }
  for (const removed of message.removed ?? []) {
    table.querySelector(`tr[data-task="${CSS.escape(removed)}"]`)?.remove();
    graph?.getElementById(removed).remove();
  }
  for (const task of message.tasks ?? []) showTask(task);
  if (message.run) showRun(message.run);
  showEvents(message.events ?? []);
}

table.addEventListener("click", (event) => {
  const link = event.target.closest("[data-part=result] > a");
  if (!link) return;
  event.preventDefault();
  link.blur();
  refreshParts();
});

follow(page.dataset.follow, { onMessage: apply, last: () => lastSeq });
