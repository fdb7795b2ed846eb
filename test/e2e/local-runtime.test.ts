import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { createLocalRuntime, type LocalRuntime } from "#kernel/runtimes/index.ts";
import { interactionContract } from "#kernel/runtimes/interaction.contract.ts";
import { outcomeOf, runtimeContract } from "#kernel/runtimes/runtime.contract.ts";
import { shellTask, temporaryDirectory } from "#kernel/runtimes/testing/index.ts";
import { cleanEnvironment, root, slipwayBin } from "#test/support/slipway.ts";
import { within } from "#test/support/within.ts";

runtimeContract("local process", async () => {
  const directory = await temporaryDirectory();
  const runtime = createLocalRuntime({ directory: directory.path, clock: systemClock, log: silentLog });
  const counter = (id: string) => join(directory.path, `${id.replaceAll("/", "_")}.count`);
  const script = (id: string, text: string) => shellTask(directory.path, id, `echo run >> ${counter(id)}; ${text}`);
  return {
    runtime,
    exits: (id, code, text = "") => script(id, `printf '%s' '${text}'; exit ${code}`),
    waits: (id) => script(id, "exec sleep 3600"),
    ignoresTerm: (id) =>
      shellTask(directory.path, id, `trap '' TERM; echo run >> ${counter(id)}; while true; do sleep 3600; done`),
    runsOf: async (id) => (await readFile(counter(id), "utf8").catch(() => "")).split("\n").length - 1,
    passes: async () => undefined,
    close: async () => {
      runtime.kill();
      await runtime.close({ stopTasks: 0 });
      await directory.remove();
    },
  };
});

interactionContract("local process", async () => {
  const directory = await temporaryDirectory();
  const runtime = createLocalRuntime({ directory: directory.path, clock: systemClock, log: silentLog });
  return {
    interact: (command, options) => runtime.interact({ ...shellTask(directory.path, "x", ""), command }, options),
    close: async () => {
      await runtime.close({ stopTasks: 0 });
      await directory.remove();
    },
  };
});

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let runtime: LocalRuntime;
beforeEach(async () => {
  directory = await temporaryDirectory();
  runtime = createLocalRuntime({ directory: directory.path, clock: systemClock, log: silentLog });
});
afterEach(async () => {
  await runtime.close({ stopTasks: 0 });
  await directory.remove();
});

const logOf = (id: string) => readFile(shellTask(directory.path, id, "").logPath, "utf8").catch(() => "no log yet");

const isAlive = async (pid: string): Promise<boolean> => {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return stat !== "" && !stat.includes(") Z ");
};

test("closing with a grace answers when the last task has ended", async () => {
  await runtime.start(shellTask(directory.path, "polite/main/0", "exec sleep 3600"));
  await runtime.start(
    shellTask(directory.path, "deaf/main/0", "trap '' TERM; echo deaf; while true; do sleep 0.01; done"),
  );
  await expect.poll(() => logOf("deaf/main/0")).toContain("deaf");
  await runtime.close({ stopTasks: 50 });
  expect(runtime.find("polite/main/0")?.state).toMatchObject({ outcome: { code: 143 } });
  expect(runtime.find("deaf/main/0")?.state).toMatchObject({ outcome: { code: 137 } });
});

test("killing ends every process of every task without an answer", async () => {
  await runtime.start(shellTask(directory.path, "a/main/0", "sleep 3600 & echo $! > child; wait"));
  runtime.kill();
  expect(await outcomeOf(runtime, "a/main/0")).toMatchObject({ signal: "SIGKILL" });
});

test("once it has closed nobody makes anything in its directory, which can be removed", async () => {
  const path = join(directory.path, "short");
  await mkdir(path);
  await createLocalRuntime({ directory: path, clock: systemClock, log: silentLog }).close();
  // Looked at in the turn of the close: all the pipes that are made ahead of the first task are there, not the first few.
  expect(readdirSync(join(path, "pipes"))).toHaveLength(16);
});

test("a directory that is not there is an error of the start, not of the process", async () => {
  const lost = createLocalRuntime({ directory: `${directory.path}/no/such`, clock: systemClock, log: silentLog });
  await expect(lost.start(shellTask(directory.path, "a/main/0", "true"))).rejects.toThrow("ENOENT");
  await lost.close({ stopTasks: 0 });
});

test("a run that is interrupted twice leaves no step behind", async () => {
  const pidFile = join(directory.path, "pid");
  const document = `
apiVersion: slipway.dev/v1alpha1
kind: Workflow
metadata: {name: stubborn}
spec:
  steps:
    sleep: {container: {image: none, command: [sh, -c, "trap '' TERM; echo $$$$ > ${pidFile}; while true; do sleep 1; done"]}}
`;
  const child = spawn(process.execPath, [slipwayBin, "run", "--ephemeral", "-"], {
    cwd: root,
    env: cleanEnvironment(),
    stdio: ["pipe", "ignore", "pipe"],
  });
  child.stdin.end(document);
  let err = "";
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  const pid = await expect
    .poll(() => readFile(pidFile, "utf8"), { timeout: 60_000 })
    .toMatch(/^\d+\n$/)
    .then(() => readFile(pidFile, "utf8"));
  child.kill("SIGINT");
  await expect.poll(() => err).toContain("interrupt again to stop at once");
  child.kill("SIGINT");
  expect(await within(60_000, "the second SIGINT ends it", once(child, "exit"))).toEqual([130, null]);
  await expect.poll(() => isAlive(pid.trim())).toBe(false);
});
