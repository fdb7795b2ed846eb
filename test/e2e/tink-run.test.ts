import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  cleanEnvironment,
  endRunner,
  removeDirectory,
  root,
  slipway,
  slipwayBin,
  temporaryDirectory,
} from "#test/support/slipway.ts";

// Workflows of Tinkerbell by `slipway run`, with nothing else: server, agents and actions are this one command's.

let directory: string;
let child: ChildProcess | undefined;
beforeEach(async () => {
  directory = await temporaryDirectory();
});
afterEach(async () => {
  child?.kill("SIGKILL");
  child = undefined;
  await removeDirectory(directory);
});

const env = () => ({ HOME: directory, TMPDIR: directory });
const run = (...words: readonly string[]) => slipway(["run", "--ephemeral", ...words], { env: env() });
const file = (name: string) => readFile(join(directory, name), "utf8").catch(() => "");

/** A text whose actions are scripts, as `task: [scripts]`; each task is of the worker that its name says. */
async function template(tasks: Readonly<Record<string, readonly string[]>>): Promise<string> {
  const path = join(directory, "template.yaml");
  const action = (script: string, at: number) => ({
    name: `a${at}`,
    image: "none",
    command: ["/bin/sh", "-c", script],
  });
  const list = Object.entries(tasks).map(([worker, scripts]) => ({
    name: worker,
    worker,
    actions: scripts.map(action),
  }));
  await writeFile(path, `name: w\ntasks: ${JSON.stringify(list)}\n`);
  return path;
}

test("34. the text of a template is run with a value for it, and the exit code follows the result", async () => {
  const good = await run("examples/tinkerbell/template.yaml", "--set", "device_1=local", "--runtime", "host", "--logs");
  expect(good.code, good.err).toBe(0);
  expect(good.out).toMatch(/^greet \| this is local\nsystem \| \w+\n$/);
  expect(good.err).toMatch(/greet: Succeeded[^]*system: Succeeded[^]*survey: SUCCESS/);
  const path = await template({
    here: ["echo no /dev/sda; echo DiskMissing > $TINKERBELL_FAILURE_REASON_FILE; exit 3", `touch ${directory}/never`],
  });
  const bad = await run(path, "--runtime", "host");
  expect(bad.code).toBe(1);
  expect(bad.err).toContain("w: FAILED");
  expect(bad.err).toContain("DiskMissing");
  // The last lines of what failed, without being asked for.
  expect(bad.err, "without its id").toMatch(/^a0: exit code 3\n {2}no \/dev\/sda$/m);
  expect(await readdir(directory)).not.toContain("never");
  // What the command kept while it ran has gone with it.
  expect((await readdir(directory)).filter((name) => name.startsWith("slipway-run-"))).toEqual([]);
});

test("a template without a workflow is run for the hardware that is named, in a file or by name", async () => {
  const hardware = (name: string, device: string) =>
    JSON.stringify({
      apiVersion: "tinkerbell.org/v1alpha1",
      kind: "Hardware",
      metadata: { name },
      spec: { disks: [{ device }] },
    });
  const path = join(directory, "t.yaml");
  const text = `name: t\ntasks: [{name: t, worker: m, actions: [{name: a, image: none, command: [/bin/sh, -c, "echo {{ index .Hardware.Disks 0 }} >> ${directory}/out"]}]}]\n`;
  await writeFile(path, text);
  await writeFile(join(directory, "a.json"), hardware("a", "/dev/a"));
  await writeFile(join(directory, "b.json"), hardware("b", "/dev/b"));
  const [a, b] = [join(directory, "a.json"), join(directory, "b.json")];
  expect((await run(path, "--hardware", b)).code).toBe(0);
  expect((await run(path, a, b, "--hardware", "a")).code).toBe(0);
  expect(await file("out")).toBe("/dev/b\n/dev/a\n");
  const which = await run(path, a, b);
  expect(which.code).toBe(2);
  expect(which.err).toContain("there are several Hardware (a, b)");
});

test("a template with two workers has two agents", async () => {
  const note = (word: string) => `echo ${word} >> ${directory}/out`;
  const { code, err } = await run(await template({ "m-1": [note("one")], "m-2": [note("two")] }));
  expect(code, err).toBe(0);
  expect(await file("out")).toBe("one\ntwo\n");
});

test("what cannot be rendered is bad input, and is not waited for", async () => {
  const { code, err } = await run("examples/tinkerbell/template.yaml");
  expect(code).toBe(2);
  expect(err).toContain("survey cannot start: error rendering template: failed to parse template with ID survey");
  expect(err).toContain('map has no entry for key "device_1"');
});

test("an action without a program is told what the runtime lacks", async () => {
  await writeFile(
    join(directory, "t.yaml"),
    "name: t\ntasks: [{name: t, worker: m, actions: [{name: a, image: none}]}]\n",
  );
  const { code, err } = await run(join(directory, "t.yaml"));
  expect(code).toBe(1);
  expect(err).toContain("the host runtime needs a command");
});

test("an interrupt cancels the workflow: its action is asked to end, and the command ends as canceled by a signal", async () => {
  const script = `trap 'echo told >> ${directory}/out; exit 1' TERM; echo ready >> ${directory}/out; while :; do sleep 0.05; done`;
  const words = ["run", "--ephemeral", await template({ here: [script] })];
  const started = spawn(process.execPath, [slipwayBin, ...words], {
    cwd: root,
    env: cleanEnvironment(env()),
    stdio: "pipe",
  });
  child = started;
  let err = "";
  started.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  await expect.poll(() => file("out"), { timeout: 60_000 }).toBe("ready\n");
  // Not its exit, before which not all that it has said need have come.
  const ended = once(started, "close");
  started.kill("SIGINT");
  expect(await ended, err).toEqual([130, null]);
  expect(await file("out")).toBe("ready\ntold\n");
  expect(err).toContain("w: CANCELED");
});

test("with --agent the command is no agent, and says where it waits for one", async () => {
  const path = await template({ "m-9": [`echo done >> ${directory}/out`] });
  const around = cleanEnvironment({ ...env(), SLIPWAY_TINK_LISTEN: "127.0.0.1:0" });
  const words = ["run", "--ephemeral", path, "--agent", "m-9"];
  const started = spawn(process.execPath, [slipwayBin, ...words], { cwd: root, env: around, stdio: "pipe" });
  child = started;
  const ended = once(started, "close");
  let err = "";
  started.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  const address = () => /waiting for agent m-9 at (\S+)/.exec(err)?.[1];
  await expect.poll(address, { timeout: 60_000 }).toBeDefined();
  const state = join(directory, "agent");
  const agentWords = ["agent", "--id", "m-9", "--server", address() ?? "", "--runtime", "host", "--state-dir", state];
  const agent = spawn(process.execPath, [slipwayBin, ...agentWords], { env: cleanEnvironment(env()), stdio: "ignore" });
  try {
    expect(await ended, err).toEqual([0, null]);
    expect(await file("out")).toBe("done\n");
  } finally {
    agent.kill("SIGKILL");
    await once(agent, "exit");
    await endRunner(state);
  }
});
