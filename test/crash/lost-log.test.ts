import { afterEach, beforeEach, expect, test } from "vitest";
import { logsTo, removeDirectory, slipway, startServer, temporaryDirectory } from "#test/support/slipway.ts";

let directory = "";
beforeEach(async () => {
  directory = await temporaryDirectory();
});
afterEach(() => removeDirectory(directory));

test.each([
  ["is a full device", "2>/dev/full"],
  ["has a reader that went away", "2> >(read -r line)"],
])("a server whose log %s goes on, and ends in order", async (_what, redirection) => {
  const up = await logsTo(redirection, directory);
  const server = await startServer(`${directory}/data`, ["--log-level", "debug"], {}, up);
  const env = { SLIPWAY_KUBECONFIG: server.kubeconfig };
  const document = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", metadata: { name: "w" } };
  const input = JSON.stringify({
    ...document,
    spec: { steps: { a: { container: { image: "none", command: ["true"] } } } },
  });
  expect(await slipway(["run", "-"], { env, input })).toMatchObject({ code: 0 });
  expect(await slipway(["status"], { env })).toMatchObject({ code: 0 });
  expect(await server.stop()).toBe(0);
});
