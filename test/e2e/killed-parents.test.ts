import { access, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { step, workflowFile } from "#test/support/held-up-run.ts";
import { endRunner, removeDirectory, slipway, startServer, temporaryDirectory } from "#test/support/slipway.ts";

let directory: string;
beforeAll(async () => {
  directory = await temporaryDirectory();
});
afterAll(() => removeDirectory(directory));

const script = (text: string) => step({ command: ["sh", "-c", text] });

test("a step that kills its parent fails by itself; a run beside it goes on", async () => {
  const server = await startServer(join(directory, "data"));
  const env = { HOME: directory, SLIPWAY_KUBECONFIG: server.kubeconfig };
  const [begun, gate] = [join(directory, "begun"), join(directory, "gate")];
  const waiting = script(`touch ${begun}; while [ ! -e ${gate} ]; do sleep 0.05; done; echo unharmed`);
  const beside = slipway(["run", await workflowFile(directory, "beside", { wait: waiting })], { env });
  await expect
    .poll(() =>
      access(begun).then(
        () => true,
        () => false,
      ),
    )
    .toBe(true);
  const killer = await workflowFile(directory, "killer", { kill: script("kill -9 $PPID; sleep 3600") });
  const { code, err } = await slipway(["run", killer], { env });
  expect(code, err).toBe(1);
  const described = await slipway(["get", "pods", "-o", "json"], { env });
  expect(described.out).toContain('"exitCode": 137');
  expect(described.out).not.toContain("ContainerStatusUnknown");
  await writeFile(gate, "");
  const finished = await beside;
  expect(finished.code, finished.err).toBe(0);
  expect(finished.out + finished.err).toContain("unharmed");
  await server.stop();
  await endRunner(server.directory);
});

test("a run without a server is not ended by a step that kills its parent", async () => {
  const path = await workflowFile(directory, "alone", { kill: script("kill -9 $PPID; sleep 3600") });
  const { code, err } = await slipway(["run", "--ephemeral", path], { env: { HOME: directory } });
  expect(code, err).toBe(1);
  expect(err).toContain("137");
});
