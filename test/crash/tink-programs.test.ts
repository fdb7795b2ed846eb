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

// A network that resets connections, between the programs that people start: `slipway up`, `slipway agent` and kubectl.

const patience = { timeout: 120_000 };
const agentId = "node-7";
let directory: string;
let port: number;
let server: TestServer;
let agent: ChildProcess | undefined;

beforeEach(async () => {
  directory = await temporaryDirectory();
  port = await freePort();
  server = await startServer(join(directory, "data"), ["--tink-listen", `127.0.0.1:${port}`]);
});
afterEach(async () => {
  agent?.kill("SIGKILL");
  await server.stop();
  await Promise.all([join(directory, "agent"), server.directory].map(endRunner));
  await removeDirectory(directory);
});

function startAgent(address: string): void {
  const token = join(server.directory, "tinkerbell/auth-token");
  const own = ["--id", agentId, "--runtime", "host", "--state-dir", join(directory, "agent"), "--token-file", token];
  const env = cleanEnvironment({ HOME: directory });
  agent = spawn(process.execPath, [slipwayBin, "agent", "--server", address, ...own], { env, stdio: "ignore" });
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

test("connections that are reset in the middle of every action repeat none of them, and lose no result", async () => {
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
