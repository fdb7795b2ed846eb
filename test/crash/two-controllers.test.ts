import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sleep, systemClock } from "#lib/base/index.ts";
import { type Api, connectApi } from "#test/support/api.ts";
import { bundleProgram } from "#test/support/bundle-program.ts";
import { endRunner, removeDirectory, startServer, temporaryDirectory, type TestServer } from "#test/support/slipway.ts";
import { rounds } from "#test/support/rounds.ts";

// Line 14 of the acceptance list of workflows: controllers in two processes, the server's and one beside it, both of which act. Every attempt
// of every step is one Job, and is carried out once.

const seconds = rounds(4, 60);
const workflows = "/apis/slipway.dev/v1alpha1/namespaces/default/workflows";

let directory: string;
let server: TestServer;
let api: Api;
let rival: ChildProcess;
beforeAll(async () => {
  directory = await temporaryDirectory();
  server = await startServer(directory, ["--log-level", "warn"]);
  api = await connectApi(server.url, server.kubeconfig);
  const bundle = await bundleProgram(join(import.meta.dirname, "workflow-controller-program.ts"));
  rival = spawn(process.execPath, [bundle, server.kubeconfig], { stdio: ["ignore", "pipe", "inherit"] });
  if (rival.stdout !== null) await once(rival.stdout, "data");
});
afterAll(async () => {
  const exit = once(rival, "exit");
  rival.kill("SIGKILL");
  await exit;
  api.close();
  await server.stop();
  await endRunner(directory);
  await removeDirectory(directory);
});

const file = () => join(directory, "lines.txt");
const script =
  'echo "$SLIPWAY_WORKFLOW $SLIPWAY_STEP${SLIPWAY_INDEX:+[$SLIPWAY_INDEX]}#$SLIPWAY_ATTEMPT" >>"$FILE"; test "$SLIPWAY_STEP#$SLIPWAY_ATTEMPT" != "flaky#1"';

function document(name: string): object {
  const container = { image: "busybox", command: ["sh", "-c", script], env: [{ name: "FILE", value: file() }] };
  const after = (...dependencies: readonly string[]) => ({ container, dependencies });
  const steps = {
    one: { container },
    fan: { ...after("one"), forEach: { items: [1, 2, 3] } },
    flaky: { ...after("one"), retry: { limit: 1, initialSeconds: 0.1 } },
    loop: { container, repeat: { until: "iteration == 2" } },
    last: after("fan", "flaky", "loop"),
  };
  return { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", metadata: { name }, spec: { steps } };
}
/** What each run writes, in the order of the alphabet. */
const lines = ["fan[0]#1", "fan[1]#1", "fan[2]#1", "flaky#1", "flaky#2", "last#1", "loop#1", "loop#2", "one#1"];

const phaseIn = (text: string) => (JSON.parse(text) as { readonly status?: { readonly phase?: string } }).status?.phase;

test("line 14: two controller processes that both act: no duplicate children", async () => {
  const names: string[] = [];
  const end = systemClock.monotonic() + seconds * 1_000;
  while (systemClock.monotonic() < end) {
    const name = `run-${names.length}`;
    const { status, text } = await api.ask("POST", workflows, document(name));
    expect(status, text).toBe(201);
    names.push(name);
    await sleep(systemClock, 500);
  }
  for (const name of names) {
    let told = "";
    const hasEnded = async () => {
      told = (await api.ask("GET", `${workflows}/${name}`)).text;
      return ["Succeeded", "Failed", "Canceled"].includes(phaseIn(told) ?? "");
    };
    await expect.poll(hasEnded, { timeout: 90_000 }).toBe(true);
    expect(phaseIn(told), told).toBe("Succeeded");
  }
  const written = (await readFile(file(), "utf8")).trimEnd().split("\n").sort();
  expect(written).toEqual(names.flatMap((name) => lines.map((text) => `${name} ${text}`)).sort());
  const { json } = await api.ask("GET", "/apis/batch/v1/namespaces/default/jobs");
  expect(json.items).toHaveLength(names.length * lines.length);
  expect(rival.exitCode, "the other one is still at work").toBeNull();
});
