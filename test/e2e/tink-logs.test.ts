import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ApiAnswer, connectApi } from "#test/support/api.ts";
import { freePort } from "#test/support/free-port.ts";
import { rounds } from "#test/support/rounds.ts";
import {
  cleanEnvironment,
  endRunner,
  exec,
  removeDirectory,
  slipway,
  slipwayBin,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";

// What actions print, from the program of a machine to the terminal of a person, through `slipway up` and `slipway agent` as a user starts them.

const patience = { timeout: 60_000 };
let directory: string;
let server: TestServer;
let port: number;
const children = new Set<ChildProcess>();

beforeEach(async () => {
  directory = await temporaryDirectory();
  port = await freePort();
  server = await start();
});
afterEach(async () => {
  for (const child of children) child.kill("SIGKILL");
  children.clear();
  await server.stop();
  await Promise.all([endRunner(join(directory, "agent")), endRunner(server.directory)]);
  await removeDirectory(directory);
});

const start = () => startServer(join(directory, "data"), ["--tink-listen", `127.0.0.1:${port}`]);

function program(...words: readonly string[]) {
  const env = cleanEnvironment({ HOME: directory, SLIPWAY_KUBECONFIG: server.kubeconfig });
  const child = spawn(process.execPath, [slipwayBin, ...words], { env, stdio: ["ignore", "pipe", "pipe"] });
  children.add(child);
  const said = { out: "", err: "" };
  child.stdout?.on("data", (chunk: Buffer) => (said.out += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (said.err += chunk.toString()));
  const ended = once(child, "exit").then(([code]) => code as number | null);
  return { child, said, ended };
}

const startAgent = (...more: readonly string[]) => {
  const own = [...more, "--id", "node-7", "--runtime", "host", "--state-dir", join(directory, "agent")];
  return program("agent", "--server", `127.0.0.1:${port}`, ...own);
};

async function run(name: string, scripts: readonly string[], annotations = {}, environment = {}): Promise<void> {
  const actions = scripts.map((script, at) => ({
    name: `a${at}`,
    image: "none",
    command: ["/bin/sh", "-c", script],
    environment,
  }));
  const data = JSON.stringify({ version: "0.1", name, tasks: [{ name: "t", worker: "node-7", actions }] });
  const object = (kind: string, spec: object) =>
    JSON.stringify({ apiVersion: "tinkerbell.org/v1alpha1", kind, metadata: { name, annotations }, spec });
  const file = join(directory, `${name}.yaml`);
  await writeFile(file, `${object("Template", { data })}\n---\n${object("Workflow", { templateRef: name })}\n`);
  const { code, err } = await exec("kubectl", ["--kubeconfig", server.kubeconfig, "apply", "-f", file]);
  expect(code, err).toBe(0);
}

const told = async (...words: readonly string[]) =>
  await slipway(words, { env: { SLIPWAY_KUBECONFIG: server.kubeconfig, HOME: directory } });

const path = (name: string) => `/apis/tinkerbell.org/v1alpha1/namespaces/default/workflows/${name}`;
/** Asked without a program, which costs more than all that is waited for. */
async function answer(to: string): Promise<ApiAnswer> {
  const api = await connectApi(server.url, server.kubeconfig);
  try {
    return await api.ask("GET", to);
  } finally {
    api.close();
  }
}
async function stateOf(name: string): Promise<string | undefined> {
  const { json } = await answer(path(name));
  return (json as { readonly status?: { readonly state?: string } }).status?.state;
}
/** The log of an action as it is stored. */
const logged = (name: string, action: string) =>
  expect.poll(async () => (await answer(`${path(name)}/log?action=${action}`)).text, patience);
const ended = (name: string) => expect.poll(() => stateOf(name), patience);
const workflow = (name: string) => `workflows.tinkerbell.org/${name}`;

test("lines appear while their action runs, go on after server and agent were killed, and stay, each once", async () => {
  const gate = (name: string) => join(directory, name);
  let agent = startAgent();
  const wait = (name: string) => `until [ -e ${gate(name)} ]; do sleep 0.05; done`;
  await run("w", [
    `echo one; ${wait("g1")}; for i in 1 2 3 4 5 6 7 8 9 10; do echo "line $i"; done; ${wait("g2")}; echo after; ${wait("g3")}; echo last >&2`,
    "echo second action",
  ]);
  await expect.poll(() => stateOf("w"), patience).toBe("RUNNING");
  const follower = program("logs", workflow("w"), "-f");
  // The action waits for the gate: the line has come while it runs.
  await expect.poll(() => follower.said.out, patience).toBe("a0 | one\n");

  agent.child.kill("SIGKILL");
  await agent.ended;
  await writeFile(gate("g1"), "");
  agent = startAgent();
  await expect.poll(() => follower.said.out, patience).toContain("a0 | line 10\n");

  await server.kill();
  await writeFile(gate("g2"), "");
  server = await start();
  agent.child.kill("SIGKILL");
  await agent.ended;
  agent = startAgent();
  await logged("w", "a0").toContain("after\n");
  await writeFile(gate("g3"), "");
  await ended("w").toBe("SUCCESS");

  const numbered = Array.from({ length: 10 }, (_, at) => `line ${at + 1}\n`).join("");
  await logged("w", "a0").toBe(`one\n${numbered}after\nlast\n`);
  await logged("w", "a1").toBe("second action\n");
  expect((await told("logs", workflow("w"), "--action", "a0")).out).toBe(`one\n${numbered}after\nlast\n`);
  expect((await told("logs", workflow("w"), "a0", "--tail", "2")).out).toBe("after\nlast\n");
  expect((await told("logs", workflow("w"), "a0", "-f")).out).toBe(`one\n${numbered}after\nlast\n`);

  const words = ["get", "--raw", `${path("w")}/log?action=a1&timestamps=true`];
  const raw = await exec("kubectl", ["--kubeconfig", server.kubeconfig, ...words]);
  expect(raw.out).toMatch(/^20\d\d-\S+Z second action\n$/);
  expect((await told("logs", workflow("w"), "a9")).err).toContain('no step "a9"');
});

test("a cancel is requested until the agent has stopped the action, and canceled from then on", async () => {
  startAgent("--stop-grace", "5m");
  const gate = join(directory, "gate");
  await run("w", [`trap '' TERM; echo up; until [ -e ${gate} ]; do sleep 0.05; done`]);
  await logged("w", "a0").toContain("up\n");
  expect((await told("cancel", workflow("w"))).out).toBe("workflow/w cancel requested\n");
  await writeFile(gate, "");
  await ended("w").toBe("CANCELED");
  expect((await told("cancel", workflow("w"))).out).toBe("workflow/w canceled\n");
});

/** Of a log of at most ten. */
const mebibytes = rounds(20, 100);

test("many MiB leave the last ten with a line that says what is missing, and values that are masked are nowhere", async () => {
  startAgent();
  await run(
    "big",
    [
      `echo "it is $TOKEN" >&2; echo "TOKEN is $TOKEN" > $TINKERBELL_FAILURE_MESSAGE_FILE; yes $(printf 'x%.0s' $(seq 1000)) | head -c ${mebibytes * 2 ** 20}; echo; echo "the end of $TOKEN"; exit 3`,
    ],
    { "slipway.dev/mask-env": "TOKEN" },
    { TOKEN: "correct-horse" },
  );
  await ended("big").toBe("FAILED");
  const words = ["logs", workflow("big"), "a0"];
  const end = async () => (await answer(`${path("big")}/log?action=a0&tailLines=1`)).text;
  await expect.poll(end, patience).toBe("the end of ***\n");
  // Files that are to go stay until what has taken their place is flushed, and the last of them until the server closes the log.
  const whole = async () => (await answer(`${path("big")}/log?action=a0`)).text.length;
  await expect.poll(whole, { ...patience, interval: 1_000 }).toBeLessThan(13 * 1024 * 1024);
  const { out } = await told(...words);
  // What was sent before the ring was faster than the network is there, too.
  const marks = out.match(
    /^slipway: \d{7,9} bytes of this log come before this line; what is not kept of them was dropped$/gm,
  );
  expect(marks?.length ?? 0, out.slice(0, 200)).toBeGreaterThan(0);
  expect(out.length).toBeGreaterThan(9 * 1024 * 1024);
  const kept = await exec("grep", [
    "-rlF",
    "correct-horse",
    join(directory, "agent", "logs"),
    join(directory, "data", "tinkerbell"),
  ]);
  expect(kept.out).toBe("");
  const { out: status } = await exec("kubectl", [
    "--kubeconfig",
    server.kubeconfig,
    "get",
    "workflows.tinkerbell.org",
    "big",
    "-o",
    "jsonpath={.status.failureMessage}",
  ]);
  expect(status).toContain("TOKEN is ***");
});
