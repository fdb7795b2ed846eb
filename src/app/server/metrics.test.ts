import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { AuditLog, memoryStore } from "#kernel/apiserver/index.ts";
import { Metrics } from "#kernel/kit/index.ts";
import { temporaryDirectory, createFakeRuntime } from "#kernel/runtimes/testing/index.ts";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { startControlPlane } from "./control-plane.ts";

/** The first cells of a table's rows. */
async function documented(): Promise<readonly string[]> {
  const text = await readFile(new URL("../../../docs/reference/metrics.md", import.meta.url), "utf8");
  return [...text.matchAll(/^\| (`(?:slipway|grpc)_.*?) \|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name),
  );
}

test("what a control plane counts is what the reference lists, and the size of its file", async () => {
  const metrics = new Metrics();
  const directory = await temporaryDirectory();
  const parts = { clock: systemClock, log: silentLog };
  const store = memoryStore(parts);
  const audit = new AuditLog({ directory: `${directory.path}/audit`, ...parts });
  const plane = await startControlPlane({
    ...parts,
    store,
    audit,
    metrics,
    version: "test",
    directory: directory.path,
    runnerPath: "",
    runtime: createFakeRuntime(parts),
    environment: {},
    // Whoever listens for agents counts them.
    dialectOptions: { tinkerbell: { listen: { address: "127.0.0.1:0", isUsual: false } } },
    isFresh: true,
    signal: new AbortController().signal,
  });
  const counted = metrics.collect().map(({ name }) => name);
  expect([...counted, "slipway_store_db_file_bytes"].sort()).toEqual([...(await documented())].sort());
  await plane.close();
  await audit.close();
  await store.close();
  await directory.remove();
});
