// The explorer of the tool graph: draws positions that the server computed on a canvas.

import { onTheme, readData, readToken } from "./shell.js";

const MAX_DETAILED = 1000; // relations; dashes and heads take long to draw
const BOW_PIXELS = 18; // between relations of the same two tools
const HEAD_PIXELS = 8;
const MAX_STRETCH = 2;
const MAX_FILLED = 0.4; // of the picture, by names
const MAX_STEPS = 200; // of moving apart
const MAX_FITTED_SCALE = 240;
const MAX_LABELS = 60;
const MAX_HUB_LABELS = 8; // where tools are too dense for all names
const MAX_OBSTACLES = 200; // tools that labels keep clear of
const LABEL_HEIGHT = 16;
const LABEL_FONT = "12px system-ui, sans-serif";
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
    this.picked = -1; // kind that is brought out
    this.hasRoom = false; // for the names of all tools
    this.found = new Set();
    this.frame = 0;
  }

  load(data) {
    this.kinds = data.kinds;
    this.context.font = LABEL_FONT;
    this.nodes = data.nodes.map(([id, x, y, group, degree]) => {
      const label = shorten(id, 40);
      return { id, x, y, group, degree, label, width: this.context.measureText(label).width };
    });
    this.edges = data.edges;
    this.links = this.nodes.map(() => []);
    for (const edge of this.edges) {
      this.links[edge[0]].push(edge);
      this.links[edge[1]].push(edge);
    }
    this.bowEdges();
    this.showLegend();
    this.spread();
    this.path = new Set(
      options.path.map((id) => this.nodes.findIndex((node) => node.id === id)).filter((i) => i >= 0),
    );
    this.degrees = [...this.nodes.keys()].sort((a, b) => this.nodes[b].degree - this.nodes[a].degree);
    const left = data.total - this.edges.length;
    this.status.textContent =
      `${count(this.nodes.length, "tool")}, ${count(this.edges.length, "relation")}` +
      (left > 0 ? `; the ${left.toLocaleString()} least sure are left out: filter to see them` : "") +
      ". Drag to move, scroll to zoom, click a tool.";
    this.fit(this.path.size ? [...this.path] : [...this.nodes.keys()]);
  }

  /** Let relations of the same two tools bow apart; each holds how far, in steps. */
  bowEdges() {
    const pairs = new Map();
    for (const edge of this.edges) {
      const pair = `${Math.min(edge[0], edge[1])} ${Math.max(edge[0], edge[1])}`;
      pairs.set(pair, [...(pairs.get(pair) ?? []), edge]);
    }
    for (const pair of pairs.values()) {
      pair.forEach((edge, at) => {
        edge[4] = (at - (pair.length - 1) / 2) * (edge[0] < edge[1] ? 1 : -1);
      });
    }
  }

  /** List the kinds drawn, as buttons that bring out one kind. */
  showLegend() {
    const list = this.root.querySelector("[data-legend]");
    this.kinds.forEach(([words, isDirected, drawn, token, dashes], kind) => {
      if (!drawn) return;
      const item = this.root.querySelector("template").content.cloneNode(true);
      item.querySelector("button").dataset.kind = kind;
      item.querySelector("svg").style.color = `var(${token})`;
      item.querySelector(".legend__dashes").setAttribute("stroke-dasharray", dashes.join(" "));
      if (!isDirected) item.querySelector(".legend__head").remove();
      item.querySelector("span").textContent = `${words} (${drawn.toLocaleString()})`;
      list.append(item);
    });
  }

  pick(kind) {
    this.picked = this.picked === kind ? -1 : kind;
    for (const button of this.root.querySelectorAll("[data-kind]")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.kind) === this.picked));
    }
    this.redraw();
  }

  /** Move tools apart until each has room for its name, if there are few enough for that. */
  spread() {
    const { width, height } = this.canvas.getBoundingClientRect();
    const needed = this.nodes.reduce((sum, node) => sum + node.width * 2 * LABEL_HEIGHT, 0);
    this.hasRoom = needed < width * height * MAX_FILLED;
    if (!this.hasRoom) return;
    const [wide, high] = ["x", "y"].map((axis) => {
      const values = this.nodes.map((node) => node[axis]);
      return max(values) - min(values);
    });
    const stretch = wide ? Math.min(Math.max(((width / height) * high) / wide, 1), MAX_STRETCH) : 1;
    for (const node of this.nodes) node.x *= stretch;
    const area = this.fit([...this.nodes.keys()]);
    for (let step = 0; step < MAX_STEPS && this.separate(area); step++);
  }

  /** Push tools of an area apart where one covers another or its name; returns whether any did. */
  separate(area) {
    const half = this.nodes.map((node) => (node.width + 3 * this.radius(node)) / 2 / this.scale);
    const high = (2 * LABEL_HEIGHT) / this.scale;
    let isMoved = false;
    for (let one = 0; one < this.nodes.length; one++) {
      for (let other = 0; other < one; other++) {
        const [a, b] = [this.nodes[one], this.nodes[other]];
        const [dx, dy] = [a.x + half[one] - b.x - half[other], a.y - b.y];
        const [across, down] = [half[one] + half[other] - Math.abs(dx), high - Math.abs(dy)];
        if (across <= 0.01 || down <= 0.01) continue;
        isMoved = true;
        const axis = across < down ? "x" : "y";
        const push = (Math.min(across, down) / 2) * ((axis === "x" ? dx : dy) < 0 ? -1 : 1);
        const [least, most] = area[axis];
        a[axis] = Math.min(Math.max(a[axis] + push, least), most);
        b[axis] = Math.min(Math.max(b[axis] - push, least), most);
      }
    }
    return isMoved;
  }

  /** Show tools as large as there is room; returns the area that is free for them, in their units. */
  fit(places) {
    const box = this.canvas.getBoundingClientRect();
    const xs = places.map((place) => this.nodes[place].x);
    const ys = places.map((place) => this.nodes[place].y);
    const [left, right, top, bottom] = [min(xs), max(xs), min(ys), max(ys)];
    const [side, above, below] = [36, 64, 24]; // the buttons are above
    // Names are at the right of tools; where all are written, they need room too.
    const names = this.hasRoom ? max(places.map((place) => this.nodes[place].width)) : 0;
    const width = box.width - 2 * side - Math.min(names, box.width / 3);
    const height = box.height - above - below;
    this.scale = Math.min(
      width / Math.max(right - left, 0.1),
      height / Math.max(bottom - top, 0.1),
      MAX_FITTED_SCALE,
    );
    this.x = side + width / 2 - ((left + right) / 2) * this.scale;
    this.y = above + height / 2 - ((top + bottom) / 2) * this.scale;
    this.redraw();
    return {
      x: [(side - this.x) / this.scale, (side + width - this.x) / this.scale],
      y: [(above - this.y) / this.scale, (above + height - this.y) / this.scale],
    };
  }

  zoom(factor, at) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = at ?? [box.width / 2, box.height / 2];
    const scale = Math.min(Math.max(this.scale * factor, 0.5), 400);
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
      ...Object.fromEntries(this.kinds.map(([, , , token]) => [token, readToken(token)])),
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
    return this.edges.length > MAX_DETAILED ? 0.25 : 0.85;
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
    const width = this.edges.length > MAX_DETAILED ? 1 : 1.25; // wider lines take much longer
    this.drawEdges((edge) => !isNear(edge) && !this.isPathEdge(edge), this.edgeOpacity(focus), width);
    this.drawEdges(isNear, 0.9, 2);
    this.drawEdges((edge) => this.isPathEdge(edge), 1, 3);
    this.drawNodes(focus, box);
  }

  drawEdges(isDrawn, opacity, width) {
    const { context } = this;
    context.lineWidth = width;
    for (let kind = 0; kind < this.kinds.length; kind++) {
      const [lines, heads] = [new Path2D(), new Path2D()];
      for (const edge of this.edges) {
        if (edge[2] === kind && isDrawn(edge)) this.traceEdge(edge, lines, heads);
      }
      const isFaint = this.picked >= 0 && this.picked !== kind;
      context.globalAlpha = isFaint ? 0.06 : this.picked === kind ? 1 : opacity;
      const [, , , token, dashes] = this.kinds[kind];
      context.strokeStyle = context.fillStyle = this.colours[token];
      context.setLineDash(this.edges.length > MAX_DETAILED ? [] : dashes);
      context.stroke(lines);
      context.fill(heads);
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  /** Add a relation to paths: its line, and the head at its target if it has a direction. */
  traceEdge([source, target, kind, , bow], lines, heads) {
    const [sx, sy] = this.locate(this.nodes[source]);
    const [tx, ty] = this.locate(this.nodes[target]);
    const length = Math.hypot(tx - sx, ty - sy) || 1;
    const aside = (bow * Math.min(BOW_PIXELS, length / 4)) / length;
    const [cx, cy] = [(sx + tx) / 2 - (ty - sy) * aside, (sy + ty) / 2 + (tx - sx) * aside];
    lines.moveTo(sx, sy);
    if (bow) lines.quadraticCurveTo(cx, cy, tx, ty);
    else lines.lineTo(tx, ty);
    const gap = this.radius(this.nodes[target]) + 1;
    const least = gap + (this.edges.length > MAX_DETAILED ? 10 : 2) * HEAD_PIXELS;
    if (!this.kinds[kind][1] || length < least) return;
    const turn = Math.atan2(ty - cy, tx - cx);
    const step = (from, by, angle) => [from[0] - by * Math.cos(angle), from[1] - by * Math.sin(angle)];
    const tip = step([tx, ty], gap, turn);
    heads.moveTo(...tip);
    heads.lineTo(...step(tip, HEAD_PIXELS, turn - 0.4));
    heads.lineTo(...step(tip, HEAD_PIXELS, turn + 0.4));
    heads.closePath();
  }

  locate(node) {
    return [node.x * this.scale + this.x, node.y * this.scale + this.y];
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
      const [x, y] = this.locate(node);
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
    const isDense = !isDimmed && visible.length > MAX_OBSTACLES;
    const labelled = visible
      .filter((place) => !isDimmed || isShown(place))
      .slice(0, isDense ? MAX_HUB_LABELS : MAX_LABELS);
    const taken = visible.slice(0, MAX_OBSTACLES).map((place) => {
      const [x, y] = this.locate(this.nodes[place]);
      const radius = this.radius(this.nodes[place]);
      return [x - radius, x + radius, y - radius, y + radius];
    });
    for (const place of labelled.sort((a, b) => (b === focus) - (a === focus))) {
      this.drawLabel(this.nodes[place], place === focus, taken, box);
    }
  }

  /** Write a tool's id beside it where it covers nothing; without such a place only if it is strong. */
  drawLabel(node, isStrong, taken, box) {
    const { context, colours } = this;
    context.font = `${isStrong ? 600 : 400} ${LABEL_FONT}`;
    const [width, high] = [context.measureText(node.label).width + 4, LABEL_HEIGHT / 2];
    const [x, y] = this.locate(node);
    const gap = this.radius(node) + 2;
    const places = [
      [x + gap, y],
      [x - gap - width, y],
      [x - width / 2, y + gap + high],
      [x - width / 2, y - gap - high],
    ];
    const isInside = ([left]) => left >= 0 && left + width <= box.width;
    const isFree = ([left, middle]) =>
      !taken.some(([from, to, top, bottom]) =>
        left < to && left + width > from && middle - high < bottom && middle + high > top);
    const inside = places.filter(isInside);
    const free = inside.find(isFree) ?? (isStrong ? (inside[0] ?? places[0]) : undefined);
    if (!free) return;
    const [left, middle] = free;
    taken.push([left, left + width, middle - high, middle + high]);
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.lineWidth = 4;
    context.strokeStyle = colours.surface; // a rim, so that lines do not cross letters
    context.strokeText(node.label, left + 2, middle);
    context.fillStyle = colours.text;
    context.fillText(node.label, left + 2, middle);
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
      const [words] = this.kinds[kind];
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
  link.textContent = shorten(text, 60);
  return link;
}

function count(number, noun) {
  return `${number.toLocaleString()} ${noun}${number === 1 ? "" : "s"}`;
}

function shorten(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
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
    const button = event.target.closest("[data-zoom], [data-kind]");
    if (!button) return;
    if (button.dataset.kind) picture.pick(Number(button.dataset.kind));
    else if (button.dataset.zoom === "all") picture.fit([...picture.nodes.keys()]);
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
