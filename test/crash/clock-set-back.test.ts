import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { slipway, startServer, removeDirectory, temporaryDirectory } from "#test/support/slipway.ts";
import { buildFaults, canFault } from "./faults.ts";

let directory = "";
beforeEach(async () => {
  directory = await temporaryDirectory();
});
afterEach(() => removeDirectory(directory));

describe.skipIf(!canFault)("a server whose clock is set back by an hour", () => {
  test("is trusted by clients, and its Job is tried again and completes", async () => {
    const offset = join(directory, "offset");
    // In place: the library looks at the same bytes all the time.
    const set = (seconds: number, flag: "w" | "r+" = "r+") => writeFile(offset, `${seconds}`.padEnd(16), { flag });
    await set(3600, "w");
    const library = (await buildFaults(directory, "clock-offset.c")) ?? "";
    const server = await startServer(join(directory, "data"), [], { LD_PRELOAD: library, CLOCK_OFFSET: offset });
    const env = { SLIPWAY_KUBECONFIG: server.kubeconfig };
    const script = `[ -e ${directory}/tried ] || { touch ${directory}/tried; exit 1; }`;
    const containers = [{ name: "main", image: "none", command: ["sh", "-c", script] }];
    const spec = { backoffLimit: 3, template: { spec: { restartPolicy: "Never", containers } } };
    const job = { apiVersion: "batch/v1", kind: "Job", metadata: { name: "j" }, spec };
    const waits = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", metadata: { name: "w" } };
    const run = { ...waits, spec: { steps: { a: { wait: { seconds: 2 } } } } };
    const status = async (resource: string) => {
      const { out } = await slipway(["get", resource, "-o", "json"], { env });
      return (JSON.parse(out) as { readonly status?: Record<string, unknown> }).status ?? {};
    };
    try {
      const apply = async (object: object) =>
        expect(await slipway(["apply", "-f", "-"], { env, input: JSON.stringify(object) })).toMatchObject({ code: 0 });
      await apply(job);
      const patience = { timeout: 60_000 };
      await expect.poll(async () => (await status("job/j"))["failed"], patience).toBe(1);
      // Its two seconds begin before the clock is set back, or with it.
      await apply(run);
      await set(0);
      await expect.poll(async () => (await status("job/j"))["succeeded"], patience).toBe(1);
      await expect.poll(async () => (await status("wf/w"))["phase"], patience).toBe("Succeeded");
      expect(await server.stop()).toBe(0);
    } finally {
      await server.kill();
    }
  });
});
