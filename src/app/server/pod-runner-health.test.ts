import { expect, test } from "vitest";
import { memoryStore } from "#kernel/apiserver/index.ts";
import { temporaryDirectory, createFakeRuntime } from "#kernel/runtimes/testing/index.ts";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { startControlPlane } from "./control-plane.ts";

test("the server is not ready while its runtime does not answer, and names the part", async () => {
  const directory = await temporaryDirectory();
  const parts = { clock: systemClock, log: silentLog };
  const store = memoryStore(parts);
  const troubles: string[] = [];
  const runtime = Object.assign(createFakeRuntime(parts), { trouble: () => troubles[0] });
  const plane = await startControlPlane({
    ...parts,
    store,
    runtime,
    version: "test",
    directory: directory.path,
    runnerPath: "",
    environment: {},
    isFresh: true,
    signal: new AbortController().signal,
  });
  const client = plane.server.client();
  expect(await client.raw("/readyz/pod-runner")).toBe("ok");
  troubles.push("the runner process does not answer");
  await expect(client.raw("/readyz/pod-runner")).rejects.toThrow();
  await plane.close();
  await store.close();
  await directory.remove();
});
