import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runUntil, step, workflowFile } from "#test/support/held-up-run.ts";
import { endRunner, removeDirectory, slipway, startServer, temporaryDirectory } from "#test/support/slipway.ts";

let directory: string;
beforeAll(async () => {
  directory = await temporaryDirectory();
});
afterAll(() => removeDirectory(directory));

const lacking = { env: [{ name: "X", valueFrom: { configMapKeyRef: { name: "nowhere", key: "x" } } }] };
const file = (name: string, steps: Record<string, object>) => workflowFile(directory, name, steps);

test("a run that lacks what nobody can bring says what, and that it cannot continue", async () => {
  const path = await file("stuck", {
    good: step({}),
    bad: step(lacking),
    later: { ...step({}), dependencies: ["bad"] },
  });
  const { code, err } = await runUntil([path, "--ephemeral"], { HOME: directory }, /cannot continue.*\n.*\n.*Ctrl-C/);
  expect(code, err).toBe(130);
  expect(err).toContain('bad: held up (CreateContainerConfigError: configmap "nowhere" not found)');
  expect(err).toContain('this run cannot continue: bad (configmap "nowhere" not found)');
});

test("on a control plane that others reach it is told what is missing, and the run goes on when that comes", async () => {
  const server = await startServer(join(directory, "data"));
  const env = { HOME: directory, SLIPWAY_KUBECONFIG: server.kubeconfig };
  const running = runUntil([await file("lacks", { bad: step(lacking) })], env, /never told/);
  await expect
    .poll(async () => (await slipway(["describe", "lacks"], { env })).out)
    .toMatch(/^bad .*CreateContainerConfigError: configmap "nowhere" not found$/m);
  // Everything of a run's documents that is no run is there before it, and stays.
  const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "nowhere" }, data: { x: "1" } };
  const brings = `${JSON.stringify(map)}\n---\n${await readFile(await file("brings", { a: step({}) }), "utf8")}`;
  await writeFile(join(directory, "brings.yaml"), brings);
  expect((await slipway(["run", join(directory, "brings.yaml")], { env })).code).toBe(0);
  const { code, err } = await running;
  expect(code, err).toBe(0);
  expect(err).not.toContain("cannot continue");
  await server.stop();
  await endRunner(server.directory);
});
