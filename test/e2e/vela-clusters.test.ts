import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "#test/support/free-port.ts";
import { type Kubectl, kubectlPaths, openKubectl } from "#test/support/kubectl.ts";
import {
  endRunner,
  removeDirectory,
  slipway,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";
import { application, velaWith } from "#test/support/vela.ts";

// 17.15 14.1 with clusters that are control planes of their own.

const names = ["hub", "east", "west", "third"] as const;
type Name = (typeof names)[number];
const regions: Readonly<Record<Exclude<Name, "hub">, string>> = { east: "east", west: "west", third: "east" };

let directory: string;
/** East comes back where it was. */
let eastPort: number;
const servers = new Map<Name, TestServer>();
const kubectls = new Map<Name, Kubectl>();
const vela = velaWith(() => kubectlOf("hub"));

function kubectlOf(name: Name): Kubectl {
  const kubectl = kubectls.get(name);
  if (kubectl === undefined) throw new Error(`${name} was not started`);
  return kubectl;
}

async function start(name: Name, ...words: readonly string[]): Promise<void> {
  const server = await startServer(join(directory, name), words);
  servers.set(name, server);
  kubectls.set(name, await openKubectl(kubectlPaths[0], server.kubeconfig));
}

/** Joins a cluster to the hub, with the region it is in. */
async function joinHub(name: Exclude<Name, "hub">): Promise<void> {
  const of = (one: Name) => ["--kubeconfig", join(directory, one, "kubeconfig")];
  // One in the form of KubeVela's own command line.
  const cluster = name === "east" ? [join(directory, name, "kubeconfig"), "--name", name] : [name, ...of(name)];
  const words = [...of("hub"), "cluster", "join", ...cluster, "--labels", `region=${regions[name]}`];
  const { code, out, err } = await slipway(words);
  expect(code, `${err}${out}`).toBe(0);
}

beforeAll(async () => {
  directory = await temporaryDirectory();
  eastPort = await freePort();
  await start("hub");
  await start("east", "--port", `${eastPort}`);
  await start("west");
});

afterAll(async () => {
  for (const [name, server] of servers) {
    await server.stop();
    await endRunner(join(directory, name));
  }
  await removeDirectory(directory);
});

const replicas = (name: Name): Promise<string> =>
  kubectlOf(name).must(["get", "deployments", "-o", "jsonpath={.items[*].spec.replicas}"]);

/** Of the control plane itself, which gets nothing, and of the clusters. */
const spread = () => Promise.all([...kubectls.keys()].map(replicas));
const web = { name: "web", type: "worker", properties: { image: "none", cmd: ["sleep", "600"] } };
const scaled = { ...web, traits: [{ type: "scaler", properties: { replicas: 10 } }] };
const placement = [
  { clusterSelector: { region: "east" }, replicas: "70%" },
  { clusterSelector: { region: "west" }, replicas: "20%" },
];
const step = (name: string) => ({ name, type: "open-cluster-management", properties: { placement } });

test("17.15 14.1 replicas are shared by clusters, a third one and a restart share them anew, and one that is away is awaited", async () => {
  for (const name of ["east", "west"] as const) await joinHub(name);
  await vela.apply(application("spread", { components: [scaled], workflow: { steps: [step("spread")] } }));
  await vela.until("app/spread", ".status.status", "running");
  expect(await spread()).toEqual(["", "7", "2"]);

  await start("third");
  await joinHub("third");
  await kubectlOf("hub").must(["annotate", "app", "spread", "app.oam.dev/restart-workflow=true"]);
  await expect.poll(spread).toEqual(["", "4", "2", "3"]);
  await vela.until("app/spread", ".status.status", "running");

  await servers.get("east")?.stop();
  const change = [{ op: "replace", path: "/spec/components/0/properties/cmd/1", value: "601" }];
  await kubectlOf("hub").must(["patch", "app", "spread", "--type=json", "-p", JSON.stringify(change)]);
  const sleeps = (name: Name) =>
    kubectlOf(name).must([
      "get",
      "deployments",
      "-o",
      "jsonpath={.items[*].spec.template.spec.containers[0].command[1]}",
    ]);
  await expect.poll(() => sleeps("west")).toBe("601");
  await expect
    .poll(async () => (await vela.workflowOf("spread")).steps?.[0])
    .toMatchObject({ phase: "running", reason: "Wait", message: expect.stringContaining("east") as string });

  await start("east", "--port", `${eastPort}`);
  await vela.until("app/spread", ".status.workflow.status", "succeeded");
  expect(await sleeps("east")).toBe("601");
});
