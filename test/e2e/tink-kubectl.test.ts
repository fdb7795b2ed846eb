import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ControlPlane, startControlPlane } from "#test/support/control-plane.ts";
import {
  cleanEnvironment,
  endRunner,
  exec,
  removeDirectory,
  slipway,
  slipwayBin,
  temporaryDirectory,
} from "#test/support/slipway.ts";

// The programs as people start them: `slipway up`, or what the guide on clusters has instead, `slipway agent`, kubectl.

const patience = { timeout: 60_000 };
let directory: string;
let server: ControlPlane;
let agent: ChildProcess | undefined;
beforeEach(async () => {
  directory = await temporaryDirectory();
  server = await startControlPlane(join(directory, "server"));
});
afterEach(async () => {
  if (agent !== undefined && agent.exitCode === null) {
    const ended = once(agent, "exit");
    agent.kill("SIGKILL");
    await ended;
    await endRunner(join(directory, "agent"));
  }
  agent = undefined;
  await server.stop();
  await removeDirectory(directory);
});

const kubectl = async (...words: readonly string[]): Promise<string> => {
  const { code, out, err } = await exec("kubectl", ["--kubeconfig", server.kubeconfig, ...words]);
  expect(code, err).toBe(0);
  return out;
};
const status = async (path: string): Promise<string> =>
  await kubectl("get", "workflows.tinkerbell.org", "w", "-o", `jsonpath={.status${path}}`);
const file = (name: string) => readFile(join(directory, name), "utf8").catch(() => "");

function startAgent(): void {
  const words = [
    "agent",
    "--id",
    "m-1",
    "--server",
    server.agentAddress,
    "--runtime",
    "host",
    "--state-dir",
    join(directory, "agent"),
  ];
  agent = spawn(slipwayBin, words, { env: cleanEnvironment({ HOME: directory }), stdio: "ignore" });
}

/** Template and Workflow, both `w`, whose actions are scripts. */
async function apply(...scripts: readonly string[]): Promise<void> {
  const actions = scripts.map((script, at) => ({ name: `a${at}`, image: "none", command: ["/bin/sh", "-c", script] }));
  const data = JSON.stringify({ name: "w", tasks: [{ name: "t", worker: "m-1", actions }] });
  const object = (kind: string, spec: object) => ({
    apiVersion: "tinkerbell.org/v1alpha1",
    kind,
    metadata: { name: "w", namespace: "default" },
    spec,
  });
  const items = [object("Template", { data }), object("Workflow", { templateRef: "w" })];
  await writeFile(join(directory, "w.json"), JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  await kubectl("apply", "-f", join(directory, "w.json"));
}

test("4. three actions are carried out, each told when it starts and when it has succeeded", async () => {
  startAgent();
  await apply("true", "true", `echo done >> ${directory}/out`);
  await kubectl("wait", "--for=condition=Succeeded", "workflows.tinkerbell.org/w", "--timeout=60s");
  expect(await file("out")).toBe("done\n");
  expect(await status(".state")).toBe("SUCCESS");
  expect(await status(".tasks[0].actions[*].state")).toBe("SUCCESS SUCCESS SUCCESS");
  const starts = (await status(".tasks[0].actions[*].executionStart")).split(" ");
  expect(starts).toHaveLength(3);
  expect(starts.toSorted()).toEqual(starts);
  const events = async () => (await kubectl("get", "events", "-o", "jsonpath={.items[*].reason}")).split(" ").sort();
  await expect
    .poll(events, patience)
    .toEqual(
      expect.arrayContaining(["Prepared", "Scheduled", "Started", "ActionStarted", "ActionSucceeded", "Succeeded"]),
    );
  expect(await kubectl("get", "agents.slipway.dev", "-o", "jsonpath={.items[*].spec.agentID}")).toBe("m-1");
});

test("11. a workflow that is deleted while it runs is seen to be stopped, and is gone only when its action has ended", async () => {
  startAgent();
  await apply(
    `trap 'echo told >> ${directory}/out; exit 1' TERM; echo ready >> ${directory}/out; while :; do sleep 0.05; done`,
  );
  await expect.poll(() => file("out"), patience).toBe("ready\n");
  const words = ["get", "workflows.tinkerbell.org", "w", "-w", "-o", 'jsonpath={.status.state}{"\\n"}'];
  const program = "kubectl";
  const watch = spawn(program, ["--kubeconfig", server.kubeconfig, ...words], { stdio: "pipe" });
  let seen = "";
  watch.stdout.on("data", (chunk: Buffer) => (seen += chunk.toString()));
  await expect.poll(() => seen, patience).toContain("RUNNING\n");
  // Returns when the object is gone.
  await kubectl("delete", "workflows.tinkerbell.org", "w", "--timeout=60s");
  expect(await file("out")).toBe("ready\ntold\n");
  await expect.poll(() => seen, patience).toMatch(/RUNNING\n(?:RUNNING\n)*(?:CANCELLING\n)+(?:CANCELED\n)+/);
  watch.kill("SIGKILL");
  expect(await kubectl("get", "workflows.tinkerbell.org", "-o", "name")).toBe("");
});

test("slipway run applies and follows on a running server, whose agents do the work; what cannot be rendered stays there", async () => {
  const env = { SLIPWAY_KUBECONFIG: server.kubeconfig };
  const refused = await slipway(["run", "examples/tinkerbell/template.yaml"], { env });
  expect(refused.code).toBe(2);
  expect(refused.err).toContain("survey cannot start");
  expect(await kubectl("get", "workflows.tinkerbell.org", "-o", "name")).toBe("workflow.tinkerbell.org/survey\n");
  const running = slipway(["run", "examples/tinkerbell/template.yaml", "--set", "device_1=m-1"], { env });
  const pending = async () =>
    await kubectl("get", "workflows.tinkerbell.org", "-o", "jsonpath={.items[*].status.state}");
  // It waits for a machine, and is none.
  await expect.poll(pending, patience).toContain("PENDING");
  startAgent();
  const { code, err } = await running;
  expect(code, err).toBe(0);
});
