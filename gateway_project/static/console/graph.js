// The explorer of the tool graph: draws positions that the server computed on a canvas.

import { onTheme, readData, readToken } from "./shell.js";

const KIND_COLOURS = ["--chart-3", "--chart-1", "--chart-2", "--line-strong", "--chart-4"];
const FEW_LABELS = 40;
const MAX_LISTED = 30;
const PAN_PIXELS = 60;
const ZOOM_STEP = 1.3;
const GOLDEN_TURN = 137.508;
const COMPUTING = 202; // HTTP: accepted, not done yet
const RETRY_MS = 500;

const explorer = document.querySelector("[data-explorer]");
const options = readData("drawing-options") ?? { path: [] };

class Picture {
  constructor(root) {
    this.root = root;
    this.canvas = root.querySelector("canvas");
    this.context = this.canvas.getContext("2d");
    this.status = root.querySelector(".explorer__status");
    this.card = root.querySelector(".explorer__card");
    this.nodes = [];
    this.edges = [];
    this.scale = 1;
    this.x = 0;
    this.y = 0;
    this.hovered = -1;
    this.chosen = -1;
    this.found = new Set();
    this.frame = 0;
  }

  load(data) {
    this.kinds = data.kinds;
    this.nodes = data.nodes.map(([id, x, y, group, degree]) => ({ id, x, y, group, degree }));
    this.edges = data.edges;
    this.links = this.nodes.map(() => []);
    for (const edge of this.edges) {
      this.links[edge[0]].push(edge);
      this.links[edge[1]].push(edge);
    }
    this.path = new Set(
      options.path.map((id) => this.nodes.findIndex((node) => node.id === id)).filter((i) => i >= 0),
    );
    this.degrees = [...this.nodes.keys()].sort((a, b) => this.nodes[b].degree - this.nodes[a].degree);
    const left = data.total - this.edges.length;
    this.status.textContent =
      `${this.nodes.length.toLocaleString()} tools, ${this.edges.length.toLocaleString()} relations` +
      (left > 0 ? `; the ${left.toLocaleString()} least sure are left out: filter to see them` : "") +
      ". Drag to move, scroll to zoom, click a tool.";
    this.fit(this.path.size ? [...this.path] : [...this.nodes.keys()]);
  }

  fit(places) {
    const box = this.canvas.getBoundingClientRect();
    const xs = places.map((place) => this.nodes[place].x);
    const ys = places.map((place) => this.nodes[place].y);
    const [left, right, top, bottom] = [min(xs), max(xs), min(ys), max(ys)];
    const room = 48;
    this.scale = Math.min(
      (box.width - 2 * room) / Math.max(right - left, 4),
      (box.height - 2 * room) / Math.max(bottom - top, 4),
      44,
    );
    this.x = box.width / 2 - ((left + right) / 2) * this.scale;
    this.y = box.height / 2 - ((top + bottom) / 2) * this.scale;
    this.redraw();
  }

  zoom(factor, at) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = at ?? [box.width / 2, box.height / 2];
    const scale = Math.min(Math.max(this.scale * factor, 0.5), 200);
    this.x = x - ((x - this.x) / this.scale) * scale;
    this.y = y - ((y - this.y) / this.scale) * scale;
    this.scale = scale;
    this.redraw();
  }

  move(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.redraw();
  }

  redraw() {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.draw());
  }

  readColours() {
    this.colours = {
      text: readToken("--text"),
      surface: readToken("--surface"),
      accent: readToken("--accent"),
      warn: readToken("--warn"),
      kinds: KIND_COLOURS.map(readToken),
      lightness: matchMedia("(prefers-color-scheme: dark)").matches ? 66 : 46,
    };
    this.redraw();
  }

  radius(node) {
    const size = Math.min(0.2 + 0.04 * Math.sqrt(node.degree), 0.5) * this.scale;
    return Math.max(1.5, Math.min(size, 5 + Math.sqrt(node.degree)));
  }

  edgeOpacity(focus) {
    if (focus >= 0 || this.path.size) return 0.12;
    return this.edges.length > 1000 ? 0.25 : 0.6;
  }

  isPathEdge(edge) {
    return this.path.size > 1 && this.path.has(edge[0]) && this.path.has(edge[1]);
  }

  draw() {
    this.frame = 0;
    const box = this.canvas.getBoundingClientRect();
    const density = window.devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(box.width * density)) {
      this.canvas.width = Math.round(box.width * density);
    }
    if (this.canvas.height !== Math.round(box.height * density)) {
      this.canvas.height = Math.round(box.height * density);
    }
    const { context } = this;
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, box.width, box.height);
    const focus = this.chosen >= 0 ? this.chosen : this.hovered;
    const isNear = (edge) => focus >= 0 && (edge[0] === focus || edge[1] === focus);
    this.drawEdges((edge) => !isNear(edge) && !this.isPathEdge(edge), this.edgeOpacity(focus), 1);
    this.drawEdges(isNear, 0.9, 1.5);
    this.drawEdges((edge) => this.isPathEdge(edge), 1, 3);
    this.drawNodes(focus, box);
  }

  drawEdges(isDrawn, opacity, width) {
    const { context } = this;
    context.lineWidth = width;
    context.globalAlpha = opacity;
    for (let kind = 0; kind < this.kinds.length; kind++) {
      context.beginPath();
      for (const edge of this.edges) {
        if (edge[2] !== kind || !isDrawn(edge)) continue;
        const [source, target] = [this.nodes[edge[0]], this.nodes[edge[1]]];
        context.moveTo(source.x * this.scale + this.x, source.y * this.scale + this.y);
        context.lineTo(target.x * this.scale + this.x, target.y * this.scale + this.y);
      }
      context.strokeStyle = this.colours.kinds[Math.min(kind, KIND_COLOURS.length - 1)];
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  drawNodes(focus, box) {
    const { context, colours } = this;
    const near = new Set(focus >= 0 ? this.links[focus].flatMap((edge) => [edge[0], edge[1]]) : []);
    const isDimmed = focus >= 0 || this.found.size > 0 || this.path.size > 0;
    const isShown = (place) =>
      place === focus || near.has(place) || this.found.has(place) || this.path.has(place);
    const visible = [];
    for (const place of this.degrees) {
      const node = this.nodes[place];
      const [x, y] = [node.x * this.scale + this.x, node.y * this.scale + this.y];
      if (x < -20 || y < -20 || x > box.width + 20 || y > box.height + 20) continue;
      visible.push(place);
      context.globalAlpha = isDimmed && !isShown(place) ? 0.25 : 1;
      context.beginPath();
      context.arc(x, y, this.radius(node), 0, 2 * Math.PI);
      const hue = (node.group * GOLDEN_TURN) % 360;
      context.fillStyle = `hsl(${hue} 52% ${colours.lightness}%)`;
      context.fill();
      if (this.found.has(place) || place === focus || this.path.has(place)) {
        context.lineWidth = 2;
        context.strokeStyle = colours.text;
        context.stroke();
      }
    }
    context.globalAlpha = 1;
    const wanted = visible.filter((place) => isDimmed && isShown(place)).slice(0, FEW_LABELS);
    const labelled = wanted.length || isDimmed ? wanted : visible.slice(0, this.scale > 14 ? FEW_LABELS : 8);
    const taken = [];
    for (const place of labelled.sort((a, b) => (b === focus) - (a === focus))) {
      this.drawLabel(this.nodes[place], place === focus, taken);
    }
  }

  /** Write a tool's id beside it, unless another label is there already. */
  drawLabel(node, isStrong, taken) {
    const { context, colours } = this;
    const text = node.id.length > 40 ? `${node.id.slice(0, 39)}…` : node.id;
    context.font = `${isStrong ? 600 : 400} 12px system-ui, sans-serif`;
    const width = context.measureText(text).width;
    const x = node.x * this.scale + this.x + this.radius(node) + 4;
    const y = node.y * this.scale + this.y;
    const covers = (other) => x < other[1] && x + width > other[0] && Math.abs(y - other[2]) < 15;
    if (taken.some(covers)) return;
    taken.push([x - 2, x + width + 2, y]);
    context.globalAlpha = 0.85;
    context.fillStyle = colours.surface;
    context.fillRect(x - 2, y - 8, width + 4, 16);
    context.globalAlpha = 1;
    context.fillStyle = colours.text;
    context.textBaseline = "middle";
    context.fillText(text, x, y);
  }

  find(x, y) {
    let best = -1;
    let nearest = 12;
    this.nodes.forEach((node, place) => {
      const distance =
        Math.hypot(node.x * this.scale + this.x - x, node.y * this.scale + this.y - y) -
        this.radius(node);
      if (distance < nearest) [best, nearest] = [place, distance];
    });
    return best;
  }

  choose(place) {
    this.chosen = place;
    this.card.hidden = place < 0;
    if (place >= 0) this.describe(place);
    this.redraw();
  }

  describe(place) {
    const node = this.nodes[place];
    const heading = document.createElement("h2");
    heading.append(makeLink(node.id, toolAddress(node.id)));
    const close = document.createElement("button");
    close.type = "button";
    close.className = "button button--small";
    close.textContent = "Close";
    close.addEventListener("click", () => this.choose(-1));
    const list = document.createElement("ul");
    const links = [...this.links[place]].sort((a, b) => b[3] - a[3]);
    for (const [source, target, kind, confidence] of links.slice(0, MAX_LISTED)) {
      const other = this.nodes[source === place ? target : source];
      const item = document.createElement("li");
      const words = this.kinds[kind];
      item.append(source === place ? `${words} ` : "", makeLink(other.id, toolAddress(other.id)));
      item.append(source === place ? "" : ` ${words} it`, ` (${Math.round(100 * confidence)} %)`);
      list.append(item);
    }
    const more = links.length - MAX_LISTED;
    const actions = document.createElement("div");
    actions.className = "button-row";
    for (const [name, words] of [["source", "Path from here"], ["target", "Path to here"]]) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "button button--small";
      button.textContent = words;
      button.addEventListener("click", () => {
        const input = document.getElementById(name);
        input.value = node.id;
        input.focus();
      });
      actions.append(button);
    }
    actions.append(close);
    this.card.replaceChildren(heading, actions, list, more > 0 ? `and ${more} more` : "");
  }
}

function min(values) {
  return values.reduce((least, value) => Math.min(least, value), Infinity);
}

function max(values) {
  return values.reduce((most, value) => Math.max(most, value), -Infinity);
}

function makeLink(text, address) {
  const link = document.createElement("a");
  link.href = address;
  link.textContent = text.length > 60 ? `${text.slice(0, 59)}…` : text;
  return link;
}

/** As `tool_address` of the server: names that a path cannot hold go into the query. */
function toolAddress(id) {
  const isOdd = id.split("/").some((step) => ["", ".", ".."].includes(step)) || id.includes("\n");
  if (isOdd) return `/tools/:/?${new URLSearchParams({ name: id })}`;
  return `/tools/${id.split("/").map(encodeURIComponent).join("/")}/`;
}

function listen(picture) {
  const { canvas } = picture;
  const pointers = new Map();
  let moved = 0;
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, place(event));
    moved = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = place(event);
    const before = pointers.get(event.pointerId);
    if (!before) {
      const hovered = picture.find(...now);
      if (hovered !== picture.hovered) {
        picture.hovered = hovered;
        picture.redraw();
      }
      return;
    }
    moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
    if (pointers.size === 2) {
      const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
      const spread = (at) => Math.hypot(at[0] - other[0], at[1] - other[1]);
      picture.zoom(spread(now) / Math.max(spread(before), 1), other);
    } else {
      picture.move(now[0] - before[0], now[1] - before[1]);
    }
    pointers.set(event.pointerId, now);
  });
  const end = (event) => {
    if (pointers.delete(event.pointerId) && moved < 5) picture.choose(picture.find(...place(event)));
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", (event) => pointers.delete(event.pointerId));
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      picture.zoom(Math.exp(-event.deltaY * 0.0015), place(event));
    },
    { passive: false },
  );
  canvas.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    if (moves[event.key]) picture.move(...moves[event.key].map((step) => step * PAN_PIXELS));
    else if (event.key === "+" || event.key === "=") picture.zoom(ZOOM_STEP);
    else if (event.key === "-") picture.zoom(1 / ZOOM_STEP);
    else if (event.key === "Escape") picture.choose(-1);
    else return;
    event.preventDefault();
  });
  picture.root.addEventListener("click", (event) => {
    const button = event.target.closest("[data-zoom]");
    if (!button) return;
    if (button.dataset.zoom === "all") picture.fit([...picture.nodes.keys()]);
    else picture.zoom(button.dataset.zoom === "in" ? ZOOM_STEP : 1 / ZOOM_STEP);
  });
  const search = picture.root.querySelector("#find-node");
  search.addEventListener("input", () => {
    const words = search.value.trim().toLowerCase();
    const places = words
      ? [...picture.nodes.keys()].filter((at) => picture.nodes[at].id.toLowerCase().includes(words))
      : [];
    picture.found = new Set(places);
    if (places.length) picture.fit(places);
    else picture.redraw();
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && picture.found.size) picture.choose([...picture.found][0]);
  });
  new ResizeObserver(() => picture.redraw()).observe(canvas);
}

/** Fetch what is drawn, once the positions of all tools have been computed. */
async function fetchDrawing(status) {
  for (;;) {
    const response = await fetch(explorer.dataset.source);
    if (!response.ok || response.redirected) throw new Error(String(response.status));
    if (response.status !== COMPUTING) return response.json();
    status.textContent = "The layout is being computed; the list below holds the same.";
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function start() {
  const picture = new Picture(explorer);
  try {
    const data = await fetchDrawing(picture.status);
    picture.colours = {};
    picture.load(data);
    onTheme(() => picture.readColours());
    listen(picture);
    explorer.dataset.ready = "yes";
  } catch {
    picture.status.textContent = "The picture could not be loaded; the list below holds the same. Reload to try again.";
  }
}

for (const select of document.querySelectorAll("[data-submit] select")) {
  select.addEventListener("change", () => select.form.requestSubmit());
}
if (explorer) start();
