// Lists definitions (a JSON file) to the official TypeScript client, one by one and then all at once; prints whom it refuses.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, file] = process.argv.slice(2);
const require = createRequire(`${modules}/x.js`);
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}`)).href);
const { Client } = await load("client/index.js");
const { InMemoryTransport } = await load("inMemory.js");
const definitions = JSON.parse(readFileSync(file, "utf8"));
let tools = [];
const [near, far] = InMemoryTransport.createLinkedPair();
far.onmessage = ({ id, method, params }) => {
  if (id === undefined) return;
  const hello = { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } };
  far.send({ jsonrpc: "2.0", id, result: method === "initialize" ? hello : { tools } });
};
await far.start();
const client = new Client({ name: "strict", version: "1" });
await client.connect(near);
const refused = [];
for (tools of [...definitions.map((one) => [one]), definitions]) {
  try {
    await client.listTools();
  } catch (error) {
    refused.push([tools.length === 1 ? tools[0].name : "all of them", String(error)]);
  }
}
process.stdout.write(JSON.stringify(refused));
process.exit(0);
