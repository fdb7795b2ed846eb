import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Exit } from "#kernel/command/index.ts";
import { commandLine } from "#test/support/command-line.ts";

test("a signal while the control plane of a run starts ends the command with the signal's code, and nothing has run", async () => {
  const cli = await commandLine({ signal: AbortSignal.abort(new Exit(130)) });
  const workflow = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", metadata: { name: "w" } };
  const spec = { steps: { a: { wait: { seconds: 1 } } } };
  await writeFile(join(cli.directory, "w.json"), JSON.stringify({ ...workflow, spec }));
  expect(await cli.run("run", "w.json")).toEqual({ code: 130, out: "", err: "" });
  await cli.close();
});
