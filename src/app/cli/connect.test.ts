import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { identityOf } from "#lib/base/index.node.ts";
import { FakeClock, systemClock } from "#lib/base/index.ts";
import { connectRunning, findConnection, findRunning } from "./connect.ts";
import { namesFor } from "./names.ts";
import { environmentIn, keptOutput } from "#kernel/command/testing/index.ts";

let home: string;
// Loaded before clocks stand still.
beforeAll(async () => void (await import("#kernel/kit/index.ts")));
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "slipway-connect-"));
  await mkdir(join(home, ".slipway"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const lock = (content: string) => writeFile(join(home, ".slipway/lock"), content);
const find = (variables: Readonly<Record<string, string>> = {}, choice = {}) =>
  findRunning(choice, environmentIn(home, { variables }));

/** The number of a process that has just ended. */
async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ["-e", ""], { stdio: "ignore" });
  await once(child, "exit");
  return child.pid ?? 0;
}

test("nothing runs where there is no lock, or one that nobody can have written", async () => {
  expect(await find()).toBeUndefined();
  for (const content of ["", "{", "null", "[]", '{"pid": "1"}', "{}"]) {
    await lock(content);
    expect(await find(), content).toBeUndefined();
  }
});

test("what runs is the data directory whose owner is alive", async () => {
  await lock(JSON.stringify({ pid: process.pid, started: "now" }));
  expect(await find()).toBe(join(home, ".slipway"));
  await lock(JSON.stringify({ pid: await deadPid(), started: "then" }));
  expect(await find()).toBeUndefined();
  // The first process of the system is somebody else's for most users, and alive in any case.
  await lock(JSON.stringify({ pid: 1 }));
  expect(await find()).toBe(join(home, ".slipway"));
});

test("a lock whose pid another process has by now is stale", async () => {
  const { pid, startTicks = "", boot } = identityOf(process.pid);
  await lock(JSON.stringify({ pid, startTicks, boot, url: "https://127.0.0.1:1" }));
  expect(await find()).toBe(join(home, ".slipway"));
  for (const other of [
    { startTicks: `${startTicks}0`, boot },
    { startTicks, boot: "an earlier one" },
  ]) {
    await lock(JSON.stringify({ pid, ...other, url: "https://127.0.0.1:1" }));
    expect(await find()).toBeUndefined();
  }
});

test("a client waits for a server that holds its directory and is not ready yet, and says so on a terminal", async () => {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const url = `https://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const self = identityOf(process.pid);
  await lock(JSON.stringify(self));
  await writeFile(join(home, ".slipway/kubeconfig"), kubeconfig().replace("https://cluster.example", url));
  const clock = new FakeClock();
  const err = keptOutput({ isTerminal: true });
  const found = findConnection({}, environmentIn(home, {}, undefined, err), clock);
  await clock.advance(900);
  expect(err.text()).toBe("");
  await clock.advance(20_000);
  expect(err.text()).toBe(`slipway: waiting for the control plane of ${home}/.slipway to start\n`);
  await lock(JSON.stringify({ ...self, url }));
  await clock.advance(100);
  expect((await found).server).toBe(url);
  listener.close();
});

test("a kubeconfig that was named is believed, the flag before the variable, and KUBECONFIG is not followed", async () => {
  expect(await find({ SLIPWAY_KUBECONFIG: "theirs" })).toBe("theirs");
  expect(await find({ SLIPWAY_KUBECONFIG: "theirs" }, { kubeconfig: "mine" })).toBe("mine");
  expect(await find({ KUBECONFIG: "somebody's" })).toBeUndefined();
  expect(await find({ SLIPWAY_DATA_DIR: join(home, "else") })).toBeUndefined();
});

const kubeconfig = (namespace?: string): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "c",
    clusters: [{ name: "k", cluster: { server: "https://cluster.example" } }],
    users: [{ name: "u", user: { token: "t" } }],
    contexts: [
      { name: "c", context: { cluster: "k", user: "u", ...(namespace === undefined ? {} : { namespace }) } },
      { name: "d", context: { cluster: "k", user: "u", namespace: "of-d" } },
    ],
  });

test.each<[string | undefined, object, string]>([
  [undefined, {}, "default"],
  ["of-c", {}, "of-c"],
  ["of-c", { context: "d" }, "of-d"],
  ["of-c", { namespace: "mine" }, "mine"],
])("of a kubeconfig with the namespace %s and %j the namespace is %s", async (namespace, choice, expected) => {
  const file = join(home, "config");
  await writeFile(file, kubeconfig(namespace));
  const session = await connectRunning({ kubeconfig: file, ...choice }, environmentIn(home), systemClock);
  expect(session.namespace).toBe(expected);
  await session.close();
});

test("without a control plane the error says how to come to one", async () => {
  const clock = new FakeClock();
  const connecting = connectRunning({}, environmentIn(home), clock);
  connecting.catch(() => undefined);
  // It may just have been started.
  await clock.advance(2900);
  await clock.advance(1000);
  await expect(connecting).rejects.toMatchObject({
    code: "no-control-plane",
    message: `no control plane is running in ${join(home, ".slipway")}`,
    hint: "start one with: slipway up --detach\nor name another with: --kubeconfig FILE",
  });
  const named = connectRunning({ kubeconfig: join(home, "none") }, environmentIn(home), clock);
  named.catch(() => undefined);
  await clock.advance(4000);
  await expect(named).rejects.toThrow(/none/);
});

test("completion is never in the way: without an answer there are no words", async () => {
  const nobody = {
    clock: systemClock,
    options: { verbose: 0 },
    environment: environmentIn(home),
    connect: () => Promise.reject(new Error("nobody")),
  };
  for (const kind of ["run", "step", "kind", "name"] as const)
    expect(await namesFor(kind, nobody, ["describe", ""])).toEqual([]);
});
