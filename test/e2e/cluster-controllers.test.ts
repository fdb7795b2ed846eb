import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { controllersCommand } from "#app/cli/commands/controllers.ts";
import { crdsCommand } from "#app/cli/commands/crds.ts";
import { giveRights } from "#test/support/accounts.ts";
import { openBareCluster } from "#test/support/cluster-under-test.ts";
import { blocksOf } from "#test/support/markdown.ts";
import {
  cleanEnvironment,
  endRunner,
  exec,
  removeDirectory,
  slipway,
  slipwayBin,
  startServer,
  temporaryDirectory,
} from "#test/support/slipway.ts";

// Controllers and servers of agents as processes of their own, for a Kubernetes API that knows nothing of them: no kinds of ours, no admission, no
// controllers. What they know of it is its kubeconfig.

const patience = { timeout: 60_000 };
/** One for all tests: what each makes there has names of its own. */
let cluster: Awaited<ReturnType<typeof openBareCluster>>;
let clusterDirectory: string;
let kubeconfig: string;
let directory: string;
let started: Started[];
beforeAll(async () => {
  clusterDirectory = await temporaryDirectory();
  kubeconfig = join(clusterDirectory, "cluster.kubeconfig");
  cluster = await openBareCluster(kubeconfig);
  const rights = blocksOf("docs/guides/cluster.md").find(({ text }) => text.includes("kind: ClusterRole"));
  const accounts = Object.fromEntries(["slipway-controllers", "tink-server"].map((name) => [name, fileOf(name)]));
  await giveRights(kubeconfig, rights?.text ?? "", accounts);
});
afterAll(async () => {
  await cluster.close();
  await removeDirectory(clusterDirectory);
});
beforeEach(async () => {
  directory = await temporaryDirectory();
  started = [];
});
afterEach(async () => {
  // So that no Lease is left for the next test to wait for.
  await Promise.all(started.map((program) => program.end("SIGTERM")));
  await endRunner(join(directory, "agent"));
  await removeDirectory(directory);
});

/** The kubeconfig of an account. */
const fileOf = (account: string) => join(clusterDirectory, `${account}.kubeconfig`);

/** A program at work. */
interface Started {
  /** What it has said so far, on either stream. */
  readonly said: () => string;
  /** Resolves with its code. */
  readonly end: (signal: NodeJS.Signals) => Promise<number | null>;
}

function start(...words: readonly string[]): Started {
  const child: ChildProcess = spawn(process.execPath, [slipwayBin, ...words], {
    env: cleanEnvironment({ HOME: directory }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const program: Started = {
    said: () => said,
    async end(signal) {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = once(child, "exit");
        child.kill(signal);
        await ended;
      }
      return child.exitCode;
    },
  };
  started.push(program);
  return program;
}

/** With the rights that the guide gives to such a program. */
const onCluster = (...words: readonly string[]): Started => {
  const account = words.includes("server") ? "tink-server" : "slipway-controllers";
  return start(...words, "--kubeconfig", fileOf(account));
};

const kubectl = async (words: readonly string[], input?: string): Promise<string> => {
  const given = input === undefined ? {} : { input };
  const { code, out, err } = await exec("kubectl", ["--kubeconfig", kubeconfig, ...words], given);
  expect(code, err).toBe(0);
  return out;
};

/** Gives the controllers a role besides, with what `kubectl create clusterrole` takes. */
async function grant(role: string, ...rules: readonly string[]): Promise<void> {
  const binding = [`--clusterrole=${role}`, "--serviceaccount=default:slipway-controllers"];
  for (const words of [
    ["clusterrole", role, ...rules],
    ["clusterrolebinding", role, ...binding],
  ]) {
    const made = await kubectl(["create", ...words, "--dry-run=client", "-o", "yaml"]);
    await kubectl(["apply", "-f", "-"], made);
  }
}

const installDefinitions = async (): Promise<void> => {
  const { out } = await slipway(["crds"]);
  await kubectl(["apply", "--server-side", "-f", "-"], out);
  await kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);
};

/** A server for agents, and an agent of it named `m-1`. */
async function startAgents(): Promise<void> {
  const server = onCluster("tink", "server", "--tink-listen", "127.0.0.1:0");
  await expect.poll(server.said, patience).toMatch(/agents of Tinkerbell: \S+/);
  const [, address = ""] = /agents of Tinkerbell: (\S+)/.exec(server.said()) ?? [];
  const state = join(directory, "agent");
  start("agent", "--id", "m-1", "--server", address, "--runtime", "host", "--state-dir", state);
}

/** Template and Workflow of one name, whose actions are scripts. */
async function provision(name: string, ...scripts: readonly string[]): Promise<void> {
  const actions = scripts.map((script, at) => ({ name: `a${at}`, image: "none", command: ["/bin/sh", "-c", script] }));
  const data = JSON.stringify({ name, tasks: [{ name: "t", worker: "m-1", actions }] });
  const object = (kind: string, spec: object) => ({
    apiVersion: "tinkerbell.org/v1alpha1",
    kind,
    metadata: { name, namespace: "default" },
    spec,
  });
  const items = [object("Template", { data }), object("Workflow", { templateRef: name })];
  await kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));
}

const stateOf = (name: string) => kubectl(["get", "workflows.tinkerbell.org", name, "-o", "jsonpath={.status.state}"]);
const file = (name: string) => readFile(join(directory, name), "utf8").catch(() => "");

test("what a cluster does not serve is told by name, with the command that installs it", async () => {
  const { code, err } = await slipway(["controllers", "--kubeconfig", kubeconfig]);
  expect(code).toBe(1);
  expect(err).toContain("the cluster does not serve runactions.v1alpha1.slipway.dev, workflows.v1alpha1.slipway.dev, ");
  expect(err).toContain("slipway crds | kubectl apply --server-side -f -");
});

describe("with the definitions", () => {
  beforeAll(installDefinitions);

  test("machines are provisioned by a controller, a server and an agent that share nothing but the cluster", async () => {
    onCluster("tink", "controller");
    await startAgents();
    await provision("w", "true", `echo done >> ${directory}/out`);
    await kubectl(["wait", "--for=condition=Succeeded", "workflows.tinkerbell.org/w", "--timeout=60s"]);
    expect(await file("out")).toBe("done\n");
    expect(await kubectl(["get", "agents.slipway.dev", "-o", "jsonpath={.items[*].spec.agentID}"])).toBe("m-1");
    const script = `trap 'echo told >> ${directory}/stopped; exit 1' TERM; echo ready >> ${directory}/stopped; while :; do sleep 0.05; done`;
    await provision("stopped", script);
    await expect.poll(() => file("stopped"), patience).toBe("ready\n");
    // Returns when the object is gone.
    await kubectl(["delete", "workflows.tinkerbell.org", "stopped", "--timeout=60s"]);
    expect(await file("stopped")).toBe("ready\ntold\n");
  });

  test("one of two controllers acts; when it is killed the other takes over, and nothing is done twice", async () => {
    const holder = () =>
      kubectl([
        "get",
        "lease",
        "slipway-tink-controller",
        "-o",
        "jsonpath={.spec.holderIdentity}",
        "--ignore-not-found",
      ]);
    const first = onCluster("tink", "controller");
    await expect.poll(first.said, patience).toContain("leadership gained");
    const second = onCluster("tink", "controller");
    await startAgents();
    await provision("long", `echo begun >> ${directory}/out; while ! test -e ${directory}/gate; do sleep 0.05; done`);
    await expect.poll(() => file("out"), patience).toBe("begun\n");
    const before = await holder();
    await first.end("SIGKILL");
    expect(second.said()).not.toContain("leadership gained");
    await writeFile(join(directory, "gate"), "");
    await expect.poll(second.said, patience).toContain("leadership gained");
    expect(await holder()).not.toBe(before);
    await kubectl(["wait", "--for=condition=Succeeded", "workflows.tinkerbell.org/long", "--timeout=60s"]);
    await provision("next", "true");
    await expect.poll(() => stateOf("next"), patience).toBe("SUCCESS");
    expect(await file("out")).toBe("begun\n");
    expect(await second.end("SIGTERM")).toBe(0);
  });

  test("Workflows run, and a RunAction approves a step", async () => {
    const controllers = onCluster("controllers");
    await expect.poll(controllers.said, patience).toContain("controllers started");
    const verbs = ["create", "get", "list", "patch", "watch"].map((verb) => `--verb=${verb}`);
    await grant("config-maps", ...verbs, "--resource=configmaps");
    const template = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "made" }, data: { by: "a step" } };
    const steps = {
      ask: { approval: {} },
      make: { dependencies: ["ask"], operation: "Apply", template },
    };
    const workflow = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", metadata: { name: "w" }, spec: { steps } };
    await kubectl(["apply", "-f", "-"], JSON.stringify(workflow));
    await kubectl(["wait", "--for=jsonpath={.status.phase}=Suspended", "workflows.slipway.dev/w", "--timeout=60s"]);
    const action = {
      apiVersion: "slipway.dev/v1alpha1",
      kind: "RunAction",
      metadata: { name: "yes" },
      spec: {
        target: { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: "w" },
        action: "approve",
        step: "ask",
      },
    };
    await kubectl(["apply", "-f", "-"], JSON.stringify(action));
    await kubectl(["wait", "--for=condition=Complete", "workflows.slipway.dev/w", "--timeout=60s"]);
    expect(await kubectl(["get", "configmap", "made", "-o", "jsonpath={.data.by}"])).toBe("a step");
    expect(await controllers.end("SIGTERM")).toBe(0);
  });
});

test("a control plane of slipway up is left to its own controllers", async () => {
  const server = await startServer(join(directory, "server"));
  try {
    const { code, err } = await slipway(["controllers", "--kubeconfig", server.kubeconfig]);
    expect(code).toBe(1);
    expect(err).toContain("this is a control plane of slipway up, which has controllers of its own");
  } finally {
    await server.stop();
    await endRunner(server.directory);
  }
});

test("a cluster has to be named, and its definitions can be had as data", async () => {
  const { code, err } = await slipway(["controllers"]);
  expect(code).toBe(1);
  expect(err).toContain("no cluster is named");
  const { out } = await slipway(["crds", "tinkerbell", "-o", "json"]);
  const { items } = JSON.parse(out) as { readonly items: readonly { readonly metadata: { readonly name: string } }[] };
  expect(items.map(({ metadata }) => metadata.name)).toContain("workflows.tinkerbell.org");
  expect(items.map(({ metadata }) => metadata.name)).not.toContain("workflows.slipway.dev");
});

test.each(crdsCommand.examples)("%s", async (example) => {
  const { code, err } = await exec("sh", ["-c", example], {
    env: { KUBECONFIG: kubeconfig, PATH: await pathWithSlipway() },
  });
  expect(code, err).toBe(0);
});

test.each(controllersCommand.examples)("%s", async (example) => {
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "slipway" } };
  await kubectl(["apply", "-f", "-"], JSON.stringify(namespace));
  const words = example.split(" ").slice(1);
  const controllers = start(...words.map((word) => (word === "cluster.kubeconfig" ? kubeconfig : word)));
  await expect.poll(controllers.said, patience).toContain("controllers started");
  expect(await controllers.end("SIGTERM")).toBe(0);
});

/** Programs as people find them. */
async function pathWithSlipway(): Promise<string> {
  const program = join(directory, "slipway");
  await writeFile(program, `#!/bin/sh\nexec "${process.execPath}" "${slipwayBin}" "$@"\n`, { mode: 0o755 });
  return `${directory}:${process.env["PATH"] ?? ""}`;
}
