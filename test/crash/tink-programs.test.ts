import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { freePort } from "#test/support/free-port.ts";
import {
  cleanEnvironment,
  endRunner,
  exec,
  removeDirectory,
  slipwayBin,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";

// Lines of the acceptance list of Tinkerbell that take a server or an agent away, on the programs that people start: `slipway up`, `slipway agent`
// and kubectl. Every state of a workflow is with the faults of the server's parts.

const patience = { timeout: 120_000, interval: 100 };
const agentId = "node-7";
let directory: string;
let port: number;
let server: TestServer;
const agents: { readonly child: ChildProcess; readonly state: string; said: string }[] = [];

const start = (...options: readonly string[]) =>
  startServer(join(directory, "data"), ["--tink-listen", `127.0.0.1:${port}`, ...options]);

beforeEach(async () => {
  directory = await temporaryDirectory();
  port = await freePort();
});
afterEach(async () => {
  for (const { child } of agents) child.kill("SIGKILL");
  await server.stop();
  await Promise.all([...agents.splice(0).map(({ state }) => endRunner(state)), endRunner(server.directory)]);
  await removeDirectory(directory);
});

function startAgent(address = `127.0.0.1:${port}`, name = "agent") {
  const state = join(directory, name);
  const token = join(directory, "data/tinkerbell/auth-token");
  const own = ["--id", agentId, "--runtime", "host", "--state-dir", state, "--token-file", token];
  const words = ["agent", "--server", address, ...own];
  const env = cleanEnvironment({ HOME: directory });
  const child = spawn(process.execPath, [slipwayBin, ...words], { env, stdio: ["ignore", "ignore", "pipe"] });
  const agent = { child, state, said: "" };
  child.stderr.on("data", (chunk: Buffer) => (agent.said += chunk.toString()));
  agents.push(agent);
  return agent;
}

const kubectl = async (...words: readonly string[]): Promise<string> => {
  const { code, out, err } = await exec("kubectl", ["--kubeconfig", server.kubeconfig, ...words]);
  expect(code, err).toBe(0);
  return out;
};

/** A workflow of actions that note each start in a file of its own line, and wait for a gate where they have one. */
async function run(name: string, ...actions: readonly { readonly says: string; readonly gate?: string }[]) {
  const script = ({ says, gate }: (typeof actions)[number]) =>
    `echo ${says} >> ${directory}/${name}.lines` +
    (gate === undefined ? "" : `; until [ -e ${directory}/${gate} ]; do sleep 0.05; done`);
  const listed = actions.map((action, at) => ({
    name: `a${at}`,
    image: "none",
    command: ["sh", "-c", script(action)],
  }));
  const data = JSON.stringify({ version: "0.1", name, tasks: [{ name: "t", worker: agentId, actions: listed }] });
  const object = (kind: string, spec: object) => ({
    apiVersion: "tinkerbell.org/v1alpha1",
    kind,
    metadata: { name, namespace: "default" },
    spec,
  });
  const items = [object("Template", { data }), object("Workflow", { templateRef: name })];
  const file = join(directory, `${name}.json`);
  await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  await kubectl("apply", "-f", file);
}

const open = (gate: string) => writeFile(join(directory, gate), "");
const linesOf = async (name: string) =>
  (await readFile(join(directory, `${name}.lines`), "utf8").catch(() => "")).trim().split("\n");
const fieldOf = (name: string, path: string) =>
  kubectl("get", "workflows.tinkerbell.org", name, "-o", `jsonpath={.status${path}}`);

/** Each action has run once and was tried once, and the agent is free for what comes next. */
async function expectOnce(name: string, lines: readonly string[]): Promise<void> {
  await expect.poll(() => fieldOf(name, ".state"), patience).toBe("SUCCESS");
  expect(await linesOf(name)).toEqual(lines);
  expect(await fieldOf(name, ".tasks[*].actions[*].attempts")).toBe(lines.map(() => "1").join(" "));
  await run(`${name}-next`, { says: "next" });
  await expect.poll(() => fieldOf(`${name}-next`, ".state"), patience).toBe("SUCCESS");
}

test("line 17: what an action comes to while the server is away is recorded once when it is back", async () => {
  server = await start();
  startAgent();
  await run("w", { says: "one", gate: "gate" }, { says: "two" });
  await expect.poll(() => linesOf("w"), patience).toEqual(["one"]);
  await expect.poll(() => fieldOf("w", ".state"), patience).toBe("RUNNING");
  await server.kill();
  await open("gate");
  server = await start();
  await expectOnce("w", ["one", "two"]);
});

test("line 31: an agent that is frozen is told of as disconnected, and goes on where it was when it thaws", async () => {
  server = await start("--tink-keepalive-time", "1s", "--tink-keepalive-timeout", "1s");
  const { child } = startAgent();
  await run("w", { says: "one", gate: "gate" }, { says: "two" });
  await expect.poll(() => linesOf("w"), patience).toEqual(["one"]);
  child.kill("SIGSTOP");
  const reasons = () => kubectl("get", "events", "-A", "-o", "jsonpath={.items[*].reason}");
  await expect.poll(reasons, patience).toContain("AgentDisconnected");
  expect(await fieldOf("w", ".state")).toBe("RUNNING");
  await open("gate");
  child.kill("SIGCONT");
  await expectOnce("w", ["one", "two"]);
});

test("line 32: of two agents with one id the newer one gets the commands, and the connection of the first is aborted", async () => {
  server = await start();
  const first = startAgent();
  await expect.poll(() => first.said, patience).toContain("connected to the server");
  // It would come back at once, and be the newer one.
  first.child.kill("SIGSTOP");
  const second = startAgent(undefined, "second");
  await expect.poll(() => second.said, patience).toContain("connected to the server");
  await run("w", { says: "one" });
  await expectOnce("w", ["one"]);
  first.child.kill("SIGCONT");
  await expect.poll(() => first.said, patience).toContain("superseded by a newer connection");
});

test("connections that are reset in the middle of every action repeat none of them, and lose no result", async () => {
  server = await start();
  await using between = await Between.open(port);
  startAgent(`127.0.0.1:${between.port}`);
  const names = ["one", "two"];
  await run("w", ...names.map((says) => ({ says, gate: says })));
  for (const [at, gate] of names.entries()) {
    await expect.poll(() => linesOf("w"), patience).toEqual(names.slice(0, at + 1));
    // Once while it runs, and once when its end is about to be told.
    await between.reset();
    await open(gate);
    await between.reset();
  }
  await expectOnce("w", names);
});

/** Stands between agents and their server, and ends connections as a firewall does that has forgotten them: by RST, to both sides. */
class Between implements AsyncDisposable {
  readonly port: number;
  readonly #listener: Server;
  readonly #sockets: Set<Socket>;

  private constructor(listener: Server, sockets: Set<Socket>, port: number) {
    this.#listener = listener;
    this.#sockets = sockets;
    this.port = port;
  }

  static async open(target: number): Promise<Between> {
    const sockets = new Set<Socket>();
    const listener = createServer((near) => {
      const far = connect(target, "127.0.0.1");
      for (const socket of [near, far]) {
        sockets.add(socket);
        socket.on("error", () => undefined);
        socket.on("close", () => sockets.delete(socket));
      }
      near.pipe(far).pipe(near);
    });
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
    const address = listener.address();
    if (address === null || typeof address === "string") throw new Error("a listener has no port");
    return new Between(listener, sockets, address.port);
  }

  /** Ends what is connected, when something is. */
  async reset(): Promise<void> {
    await expect.poll(() => this.#sockets.size, patience).toBeGreaterThanOrEqual(2);
    for (const socket of this.#sockets) socket.resetAndDestroy();
    this.#sockets.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#listener.close();
    await once(this.#listener, "close");
  }
}
