import { afterEach, beforeEach, expect, test } from "vitest";
import { type CommandLine, commandLine } from "#test/support/command-line.ts";
import { WorkflowPlane } from "../control-plane.ts";
import { Kubelet } from "../kubelet.ts";

// Line 11 of the acceptance list.

let plane: WorkflowPlane;
let kubelet: Kubelet;
let line: CommandLine;
beforeEach(async () => {
  plane = await WorkflowPlane.start();
  kubelet = new Kubelet(plane);
  line = await commandLine({ client: plane.api.server.client(), clock: plane.clock });
});
afterEach(async () => {
  await line.close();
  await plane.close();
});

const box = { container: { image: "busybox" } };
const after = (...dependencies: readonly string[]) => ({ ...box, dependencies });

const halfWay = `
Name:         edge-site-17  Namespace:  default  Phase:  Running (5/11)
Started:      33s ago       Deadline:   in 119m  Run:    1
Conditions:   Complete=False Failed=False

STEP       PHASE      TRY  TIME  DEPENDENCIES                         WAITING FOR / MESSAGE
broken     Failed     1    0s    -                                    Error: exit code 3
build      Running    2/3  33s   -                                    Job/edge-site-17-build-<hash>
cleanup    Skipped    -    -     [!] broken                           DependencyFailed: "broken" is Failed
extra      Skipped    -    -     -                                    ConditionFalse
network    Succeeded  1    0s    -
provision  Succeeded  1    20s   -
configure  Running    1    13s   [x] provision                        Job/edge-site-17-configure-<hash>
smoke      Pending    -    -     [~] configure [-] extra [x] network  configure
approve    Pending    -    -     [~] build [ ] smoke                  build, smoke
deploy     Pending    -    -     [ ] approve                          approve
FINALLY
report     Pending    -    -     (after all steps)`.trimStart();

test("line 11: a workflow half way, in topological order, each dependency with its state", async () => {
  await plane.create("site-17-network", { steps: { cable: { wait: { seconds: 1 } } } });
  await plane.pass(2_000);
  await plane.create("edge-site-17", {
    activeDeadlineSeconds: 7_200,
    steps: {
      network: { externalRef: { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: "site-17-network" } },
      provision: box,
      configure: after("provision"),
      build: { ...box, retry: { limit: 2 } },
      extra: { ...box, when: "false" },
      smoke: after("configure", "network", "extra"),
      broken: box,
      cleanup: after("broken"),
      approve: { approval: {}, dependencies: ["build", "smoke"] },
      deploy: after("approve"),
    },
    finally: { report: box },
  });
  await kubelet.end("broken", { exitCode: 3 });
  await plane.pass(20_000);
  await kubelet.end("build", { exitCode: 1 });
  await kubelet.end("provision");
  await plane.pass(13_000);
  const { out } = await line.run("describe", "workflow", "edge-site-17");
  const [described = ""] = out.split("\nEvents:");
  expect(described.replaceAll(/-[a-z2-7]{10}$/gm, "-<hash>")).toBe(halfWay);
});
