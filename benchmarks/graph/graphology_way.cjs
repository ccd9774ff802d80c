// graphology with its packages of algorithms, on Node: `node graphology_way.cjs QUESTION ANSWER`.
"use strict";

const { readFileSync, writeFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const { performance } = require("node:perf_hooks");

const [folder, file, result] = process.argv.slice(2);
const load = createRequire(`${folder}/package.json`);
const { DirectedGraph } = load("graphology");
const louvain = load("graphology-communities-louvain");
const pagerank = load("graphology-metrics/centrality/pagerank");
const { bidirectional } = load("graphology-shortest-path");

const LEAST = 0.5;
const RELATED = 3;
const DAMPING = 0.85;
const ACCURACY = 1e-6;
const UPDATES = 200;
const question = JSON.parse(readFileSync(file));
const arcs = question.sources.length;
const repeats = arcs > 500_000 ? 1 : 5;

function timesMs(work, times) {
  const taken = [];
  let last = null;
  for (let n = 0; n < times; n += 1) {
    last = null;
    const began = performance.now();
    last = work();
    taken.push(performance.now() - began);
  }
  taken.sort((one, other) => one - other);
  return [taken[Math.floor(times / 2)], last];
}

function eachUs(ask, questions) {
  questions.forEach(ask);
  const taken = questions.map((one) => {
    const began = performance.now();
    ask(one);
    return 1000 * (performance.now() - began);
  });
  taken.sort((one, other) => one - other);
  return [taken[Math.floor(taken.length / 2)], taken[Math.floor(0.95 * taken.length)]];
}

function built() {
  const graph = new DirectedGraph();
  for (let tool = 0; tool < question.tools; tool += 1) graph.addNode(tool);
  for (let n = 0; n < arcs; n += 1) {
    graph.addEdge(question.sources[n], question.targets[n], { weight: question.weights[n] });
  }
  return graph;
}

function related(graph, seeds) {
  const best = new Map();
  const keep = (tool, rank) => {
    if (rank > (best.get(tool) ?? 0)) best.set(tool, rank);
  };
  const around = (tool, visit) =>
    graph.forEachEdge(tool, (_, { weight }, source, target) =>
      visit(source === tool ? target : source, weight),
    );
  for (const seed of seeds.map(String)) {
    around(seed, (middle, first) => {
      if (first < LEAST) return;
      keep(middle, first);
      around(middle, (end, second) => {
        if (first * second >= LEAST) keep(end, (first * second) / 2);
      });
    });
  }
  for (const seed of seeds) best.delete(String(seed));
  return [...best].sort((one, other) => other[1] - one[1]).slice(0, RELATED);
}

globalThis.gc?.();
const before = process.memoryUsage().rss;
const [build, graph] = timesMs(built, repeats);
globalThis.gc?.();
const mb = (process.memoryUsage().rss - before) / 2 ** 20;
const tolerance = (ACCURACY * (1 - DAMPING)) / DAMPING / question.tools;
const options = { alpha: DAMPING, tolerance, maxIterations: 1000 };
const [ranked, ranks] = timesMs(() => pagerank(graph, options), repeats);
const [divided, labels] = timesMs(() => louvain(graph), repeats);
const all = [...Array(question.tools).keys()];
const pairs = question.pairs.map((pair) => pair.map(String));
const changed = all.slice(0, UPDATES).map((n) => [question.sources[n], question.targets[n]]);
const answer = {
  build,
  mb,
  pagerank: ranked,
  ranks: all.map((tool) => ranks[tool]),
  communities: divided,
  labels: all.map((tool) => labels[tool]),
  path: eachUs(([start, end]) => bidirectional(graph, start, end), pairs),
  related: eachUs((seeds) => related(graph, seeds), question.seeds),
  update: eachUs((ends) => graph.mergeEdge(...ends, { weight: 0.5 }), changed)[0],
};
writeFileSync(result, JSON.stringify(answer));
