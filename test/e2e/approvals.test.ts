import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  endRunner,
  type Finished,
  removeDirectory,
  slipway,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";

let directory: string;
let server: TestServer;

/** As the administrator, or as somebody with a kubeconfig of their own. */
const as = (user: string, ...words: readonly string[]): Promise<Finished> =>
  slipway(words, {
    env: { SLIPWAY_KUBECONFIG: user === "admin" ? server.kubeconfig : join(directory, `${user}.kubeconfig`) },
  });

beforeAll(async () => {
  directory = await temporaryDirectory();
  server = await startServer(join(directory, "data"));
  for (const user of ["anna", "ben"]) {
    const to = join(directory, `${user}.kubeconfig`);
    const role = ["--role", "operator", "--group", "release"];
    const made = await as("admin", "credential", "create", "--user", user, ...role, "--to", to);
    expect(made.code, made.err).toBe(0);
  }
});
afterAll(async () => {
  await server.stop();
  await endRunner(server.directory);
  await removeDirectory(directory);
});

test("the example deploys what two people of the group have approved, and nobody else counts", async () => {
  const begun = await as("admin", "run", "--detach", "examples/workflow/approval.yaml");
  expect(begun.code, begun.err).toBe(0);
  const waits = async () => (await as("admin", "describe", "workflow", "rollout")).out;
  await expect.poll(waits).toContain("How many replicas of v1.2.0? (waits for approval)");
  expect(await as("anna", "approve", "rollout", "plan", "--value", "replicas=12")).toMatchObject({
    code: 1,
    err: "slipway: workflow/rollout: values.replicas: expected at most 9, found 12\n",
  });
  expect((await as("anna", "approve", "rollout", "plan", "--value", "replicas=3")).code).toBe(0);
  await expect.poll(waits).toContain("Deploy v1.2.0 with 3 replicas? (waits for 2 approvals of group release)");
  expect(await as("admin", "approve", "rollout", "sign-off")).toMatchObject({
    code: 1,
    err: "slipway: workflow/rollout: user slipway:admin is no approver of this step; group release may decide\n",
  });
  expect(await as("anna", "approve", "rollout", "sign-off")).toMatchObject({
    code: 0,
    out: "workflow/rollout step sign-off approved (1 of 2 approvals: anna)\n",
  });
  expect(await as("ben", "approve", "rollout", "sign-off", "--reason", "tested")).toMatchObject({
    code: 0,
    out: "workflow/rollout step sign-off approved (2 of 2 approvals: anna, ben)\n",
  });
  const logs = async () => (await as("ben", "logs", "rollout", "deploy")).out;
  await expect.poll(logs, { timeout: 60_000 }).toBe('deploying v1.2.0, approved by ["anna","ben"]\n');
});
