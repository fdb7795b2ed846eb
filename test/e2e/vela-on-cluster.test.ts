import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeKubeconfig } from "#kernel/apiserver/index.ts";
import { startTestServer } from "#kernel/apiserver/testing/index.ts";
import type { JsonObject } from "#lib/base/index.ts";
import { giveRights } from "#test/support/accounts.ts";
import { kubeconfigUnderTest, openBareCluster } from "#test/support/cluster-under-test.ts";
import { git, type GitServer, gitOverHttp } from "#test/support/git-servers.ts";
import { type Kubectl, kubectlPaths, openKubectl } from "#test/support/kubectl.ts";
import { blocksOf } from "#test/support/markdown.ts";
import { cleanEnvironment, removeDirectory, slipway, slipwayBin, temporaryDirectory } from "#test/support/slipway.ts";
import { application, configMap, example, velaWith, workflowRun } from "#test/support/vela.ts";
import { keepWorkloads } from "#test/support/workloads-of-cluster.ts";

// 17.15 K: `slipway controllers` for a Kubernetes API that knows nothing of applications: no admission, no writers of objects, no protected statuses.
// The controllers have the rights that the guide gives them.

const patience = { timeout: 60_000 };
let directory: string;
let kubeconfig: string;
let kubectl: Kubectl;
let controllers: ChildProcess;
let said = "";
const closing: (() => Promise<unknown>)[] = [];
const vela = velaWith(() => kubectl);

beforeAll(async () => {
  directory = await temporaryDirectory();
  kubeconfig = join(directory, "cluster.kubeconfig");
  const cluster = await openBareCluster(kubeconfig);
  closing.push(() => cluster.close());
  kubectl = await openKubectl(kubectlPaths[0], kubeconfig);
  await kubectl.must(["apply", "--server-side", "-f", "-"], { input: (await slipway(["crds"])).out });
  await kubectl.must(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);
  const rights = blocksOf("docs/guides/cluster.md").filter(({ text }) =>
    /name: (?:tink-server|slipway-applications)\b/.test(text),
  );
  const account = join(directory, "controllers.kubeconfig");
  await giveRights(kubeconfig, rights.map(({ text }) => text).join("\n---\n"), { "slipway-controllers": account });
  const words = ["controllers", "--kubeconfig", account, "--vela-revision-limit", "1"];
  controllers = spawn(process.execPath, [slipwayBin, ...words], {
    env: cleanEnvironment({ HOME: directory }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const stream of [controllers.stdout, controllers.stderr])
    stream?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  closing.push(await keepWorkloads(kubeconfig, kubeconfigUnderTest !== undefined));
});

afterAll(async () => {
  if (controllers.exitCode === null) {
    const ended = once(controllers, "exit");
    controllers.kill("SIGTERM");
    await ended;
  }
  for (const close of closing.toReversed()) await close();
  await removeDirectory(directory);
});

const must = async (...words: readonly string[]): Promise<string> => {
  const { code, out, err } = await slipway([...words, "--kubeconfig", kubeconfig]);
  expect(code, `${err}${out}`).toBe(0);
  return out;
};

const patchJson = (what: string, path: string, value: unknown): Promise<string> =>
  kubectl.must(["patch", ...what.split("/"), "--type=json", "-p", JSON.stringify([{ op: "replace", path, value }])]);

test("applications without names of steps, and WorkflowRuns, are carried out and resumed by an edit", async () => {
  const steps = [
    { type: "apply-component", properties: { component: "one" } },
    { name: "ask", type: "suspend" },
    { name: "two", type: "apply-component", properties: { component: "two" } },
  ];
  await vela.apply(
    application("plain", {
      components: [configMap("one", { a: "1" }), configMap("two", { a: "2" })],
      workflow: { steps },
    }),
    workflowRun("report", [{ name: "say", type: "print-message-in-status", properties: { message: "hello" } }]),
  );
  await vela.until("wr/report", ".status.status", "succeeded");
  await vela.until("app/plain", ".status.status", "workflowSuspending");
  expect(await kubectl.must(["get", "configmap", "one", "-o", "jsonpath={.data.a}"])).toBe("1");
  const resumed = JSON.stringify({ status: { workflow: { suspend: false } } });
  await kubectl.must(["patch", "app", "plain", "--subresource=status", "--type=merge", "-p", resumed]);
  await vela.until("app/plain", ".status.status", "running");
  await kubectl.must(["delete", "app", "plain", "--timeout=60s"]);
  expect(await kubectl.must(["get", "configmap", "one", "two", "--ignore-not-found"])).toBe("");
});

const shown = (of: Kubectl, path: string): Promise<string> =>
  of.must(["get", "deployments", "-o", `jsonpath={range .items[*]}{.metadata.name}={${path}} {end}`]);

test("with the name of a ServiceAccount, a missing right of the controllers is named; with it the account's rights count", async () => {
  // Somebody's cluster keeps them from one run of the tests to the next.
  const granted = ["act-as-deployer-slipway-controllers", "edit-deployer", "seal-slipway-controllers"];
  await kubectl.must(["delete", "clusterrolebinding", ...granted, "--ignore-not-found"]);
  const account = "app.oam.dev/service-account-name";
  const made = application("acting", { components: [configMap("made", { a: "1" })] });
  await vela.apply({ ...made, metadata: { name: "acting", annotations: { [account]: "deployer" } } });
  const message = () => vela.read("app/acting", "{.status.conditions[*].message} {.status.workflow.steps[0].message}");
  await expect.poll(message, patience).toContain("the controllers may not act as ServiceAccount default/deployer");
  const impersonate = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "act-as-deployer" },
    rules: [
      { apiGroups: [""], resources: ["serviceaccounts"], resourceNames: ["deployer"], verbs: ["impersonate"] },
      { apiGroups: [""], resources: ["groups"], verbs: ["impersonate"] },
    ],
  };
  await vela.apply(impersonate, bindingOf("act-as-deployer", "slipway-controllers"), {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "deployer" },
  });
  await kubectl.must(["annotate", "app", "acting", "app.oam.dev/restart-workflow=true"]);
  await expect.poll(message, patience).toContain("default:deployer");
  await vela.apply(bindingOf("edit", "deployer"));
  await vela.until("app/acting", ".status.status", "running");
  await kubectl.must(["delete", "app", "acting", "--timeout=60s"]);
});

test("policy security limits the steps of an application to what its account may do", async () => {
  const [account, verbs] = ["sealed-workflow", ["create", "delete", "get", "list", "patch", "update", "watch"]];
  await vela.apply(
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "seal" },
      rules: [
        { apiGroups: [""], resources: ["serviceaccounts"], verbs },
        { apiGroups: ["rbac.authorization.k8s.io"], resources: ["roles", "rolebindings"], verbs },
        { apiGroups: [""], resources: ["serviceaccounts"], resourceNames: [account], verbs: ["impersonate"] },
        { apiGroups: [""], resources: ["groups"], verbs: ["impersonate"] },
      ],
    },
    bindingOf("seal", "slipway-controllers"),
  );
  const taken = { apiVersion: "v1", kind: "Secret", metadata: { name: "taken" } };
  const steps = [
    { name: "map", type: "apply-component", properties: { component: "sealed-map" } },
    { name: "take", type: "apply-object", properties: { value: taken } },
  ];
  const policies = [{ name: "limits", type: "security", properties: { rbac: "enabled", audit: "enabled" } }];
  await vela.apply(
    application("sealed", { components: [configMap("sealed-map", { a: "1" })], policies, workflow: { steps } }),
  );
  await expect.poll(async () => (await vela.workflowOf("sealed")).steps?.at(-1)?.message, patience).toContain(account);
  expect(await kubectl.must(["get", "configmap", "sealed-map", "-o", "jsonpath={.data.a}"])).toBe("1");
  expect(await kubectl.must(["get", "secret", "taken", "--ignore-not-found"])).toBe("");
  const profile = () => kubectl.must(["get", "securityprofile", "limits", "-o", "jsonpath={.status.message}"]);
  await expect.poll(profile, patience).toMatch(/^steps have only the rights that both sealed-workflow /);
  await must("terminate", "app/sealed");
  const events = ["get", "events", "--field-selector=involvedObject.name=sealed,reason=WorkflowOperation"];
  await expect
    .poll(() => kubectl.must([...events, "-o", "jsonpath={.items[*].message}"]), patience)
    .toMatch(/^cancel by /);
  await kubectl.must(["delete", "app", "sealed", "--timeout=60s"]);
  expect(await kubectl.must(["get", "serviceaccount", account, "--ignore-not-found"])).toBe("");
});

const bindingOf = (role: string, account: string): JsonObject => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
  metadata: { name: `${role}-${account}` },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
  subjects: [{ kind: "ServiceAccount", name: account, namespace: "default" }],
});

test("17.15 14.1 replicas are shared by two joined clusters", async () => {
  const joined: Kubectl[] = [];
  for (const name of ["east", "west"]) {
    const server = await startTestServer();
    closing.push(() => server.close());
    const file = join(directory, `${name}.kubeconfig`);
    await writeKubeconfig(file, { url: server.url, caPem: server.ca, token: server.token });
    closing.push(await keepWorkloads(file));
    joined.push(await openKubectl(kubectlPaths[0], file));
    const words = ["cluster", "join", name, "--kubeconfig", file, "--labels", `region=${name}`];
    const { code, err } = await slipway(["--kubeconfig", kubeconfig, ...words]);
    expect(code, err).toBe(0);
  }
  await kubectl.must(["apply", "-f", "-"], { input: await example("clusters.yaml") });
  await vela.until("app/clusters", ".status.status", "running");
  expect(await Promise.all(joined.map((one) => shown(one, ".spec.replicas")))).toEqual(["site=7 ", "site=2 "]);
  expect(await shown(kubectl, ".spec.replicas")).toBe("");
  await kubectl.must(["delete", "app", "clusters", "--timeout=60s"]);
  expect(await Promise.all(joined.map((one) => shown(one, ".spec.replicas")))).toEqual(["", ""]);
});

// Without kube-proxy no request can be sent: what requests follow is the Service's selector and the ready Pods behind it.
test("17.15 14.2 half of the Pods behind the Service are new; approval completes the rollout, rejection takes it back", async () => {
  await kubectl.must(["apply", "-f", "-"], { input: await example("blue-green.yaml") });
  await vela.until("app/blue-green", ".status.status", "running");
  const ready = async () => (await shown(kubectl, ".status.readyReplicas")).trim().split(" ").toSorted();
  await expect.poll(ready, patience).toEqual(["shop-v1=4"]);
  const release = async (version: string) => {
    await patchJson("app/blue-green", "/spec/components/0/properties/env/0/value", version);
    await vela.until("rollout/blue-green", ".status.revision", `blue-green-${version}`);
    await vela.until("rollout/blue-green", ".status.pause", "true");
  };
  await release("v2");
  await expect.poll(ready, patience).toEqual(["shop-v1=2", "shop-v2=2"]);
  await must("approve", "app/blue-green", "promote");
  await vela.until("app/blue-green", ".status.status", "running");
  await expect.poll(ready, patience).toEqual(["shop-v2=4"]);
  await release("v3");
  await must("reject", "app/blue-green", "promote");
  await vela.until("app/blue-green", ".status.status", "workflowFailed");
  await expect.poll(ready, patience).toEqual(["shop-v2=4"]);
  await kubectl.must(["delete", "app", "blue-green", "--timeout=60s"]);
});

test("17.15 14.4 rendered objects are pushed to a bare repository, only when something has changed", async () => {
  const repository = join(directory, "config.git");
  mkdirSync(repository);
  git(repository, "init", "-q", "--bare");
  git(repository, "config", "http.receivepack", "true");
  const served: GitServer = await gitOverHttp(directory);
  closing.push(served.close);
  const input = (await example("gitops.yaml")).replaceAll(
    "file:///tmp/config.git",
    `http://127.0.0.1:${served.port}/config.git`,
  );
  await kubectl.must(["apply", "-f", "-"], { input });
  await vela.until("app/gitops", ".status.status", "running");
  const log = () => git(repository, "log", "--format=%s", "main").split("\n");
  expect(log()).toEqual(["Deploy gitops-v1"]);
  await must("restart", "app/gitops");
  await vela.until("app/gitops", ".status.workflow.finished", "true");
  expect(log()).toEqual(["Deploy gitops-v1"]);
  await patchJson("app/gitops", "/spec/components/0/properties/image", "other");
  await vela.until("app/gitops", ".status.latestRevision.name", "gitops-v2");
  await vela.until("app/gitops", ".status.status", "running");
  expect(log()).toEqual(["Deploy gitops-v2", "Deploy gitops-v1"]);
  const revisions = () => kubectl.must(["get", "apprev", "-l", "app.oam.dev/name=gitops", "-o", "name"]);
  await expect.poll(revisions, patience).toBe("applicationrevision.core.oam.dev/gitops-v2\n");
  expect(git(repository, "show", "--format=", "-U0", "main")).toContain("image: other");
  expect(await kubectl.must(["get", "deployments", "page", "--ignore-not-found"])).toBe("");
});
