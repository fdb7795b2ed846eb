import { access, chmod, readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { memoryStore } from "#kernel/apiserver/index.ts";
import { temporaryDirectory, createFakeRuntime } from "#kernel/runtimes/testing/index.ts";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { startControlPlane } from "./control-plane.ts";
import { startEphemeral } from "./ephemeral.ts";
import { serve } from "./serve.ts";

const reason = new Error("told to stop");
const parts = { clock: systemClock, version: "test", environment: {} };

test("a control plane that is stopped while it starts closes what it has begun", async () => {
  const directory = await temporaryDirectory();
  const store = memoryStore({ clock: systemClock, log: silentLog });
  const stop = new AbortController();
  let closed = 0;
  const runtime = createFakeRuntime({ clock: systemClock });
  const close = runtime.close.bind(runtime);
  const counting = Object.assign(runtime, { close: () => (closed++, close()) });
  const onServer = () => Promise.resolve(stop.abort(reason));
  const options = { ...parts, log: silentLog, store, directory: directory.path, runnerPath: "", runtime: counting };
  await expect(startControlPlane({ ...options, onServer, signal: stop.signal })).rejects.toBe(reason);
  expect(closed).toBe(1);
  await store.close();
  await directory.remove();
});

test("a data directory that others can use is refused before anything is put into it", async () => {
  const directory = await temporaryDirectory();
  await chmod(directory.path, 0o755);
  const options = { ...parts, directory: directory.path, kubeconfig: join(directory.path, "kubeconfig") };
  const door = { ports: { first: 0, tries: 1 }, level: "error", isTerminal: true } as const;
  await expect(serve({ ...options, ...door, signal: AbortSignal.abort(reason) })).rejects.toMatchObject({
    code: "insecure-permissions",
    hint: `chmod go= ${directory.path}`,
  });
  expect(await readdir(directory.path)).toEqual([]);
  await directory.remove();
});

test("a server that is stopped while it starts lets its directory go", async () => {
  const directory = await temporaryDirectory();
  const options = { ...parts, directory: directory.path, kubeconfig: join(directory.path, "kubeconfig") };
  const door = { ports: { first: 0, tries: 1 }, level: "error", isTerminal: true } as const;
  await expect(serve({ ...options, ...door, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  await expect(access(join(directory.path, "lock"))).rejects.toThrow("ENOENT");
  await expect(access(options.kubeconfig)).rejects.toThrow("ENOENT");
  await directory.remove();
});

test("a control plane of one command is not started after a stop", async () => {
  const options = { ...parts, level: "error", workingDirectory: "/" } as const;
  await expect(startEphemeral({ ...options, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});
