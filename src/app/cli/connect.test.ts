import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "#lib/base/index.ts";
import { connectRunning, findRunning } from "./connect.ts";
import { namesFor } from "./names.ts";
import { environmentIn } from "./testing/command-line.ts";

let home: string;
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
    clusters: [{ name: "k", cluster: { server: "https://127.0.0.1:1" } }],
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
  await expect(connectRunning({}, environmentIn(home), systemClock)).rejects.toMatchObject({
    code: "no-control-plane",
    message: `no control plane is running in ${join(home, ".slipway")}`,
    hint: "start one with: slipway up\nor name another with: --kubeconfig FILE",
  });
  await expect(connectRunning({ kubeconfig: join(home, "none") }, environmentIn(home), systemClock)).rejects.toThrow(
    /none/,
  );
});

test("completion is never in the way: without an answer there are no words", async () => {
  const nobody = { clock: systemClock, connect: () => Promise.reject(new Error("nobody")) };
  for (const kind of ["run", "step", "kind", "name"] as const)
    expect(await namesFor(kind, nobody, ["describe", ""])).toEqual([]);
});
