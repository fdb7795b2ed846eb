import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testImage } from "#test/support/docker-engine.ts";
import { type Kubectl, kubectlPaths, openKubectl } from "#test/support/kubectl.ts";
import { startRegistry } from "#test/support/registry.ts";
import { removeDirectory, startServer, temporaryDirectory, type TestServer } from "#test/support/slipway.ts";
import { engine } from "./engine.ts";

let directory: string;
let server: TestServer;
let kubectl: Kubectl;

const start = async () => startServer(directory, ["--runtime", "docker"], { DOCKER_HOST: engine.host });

beforeAll(async () => {
  directory = await temporaryDirectory();
  server = await start();
  kubectl = await openKubectl(kubectlPaths[0], server.kubeconfig);
});
afterAll(async () => {
  await server.stop();
  await removeDirectory(directory);
});

const apply = (...objects: object[]) =>
  kubectl.must(["apply", "-f", "-"], { input: JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }) });

/** A pod with one container that runs a shell script. */
const pod = (name: string, script: string, container: object = {}, spec: object = {}, labels: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels },
  spec: {
    restartPolicy: "Never",
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "main", image: testImage, command: ["/bin/sh", "-c", script], ...container }],
    ...spec,
  },
});

const jsonPath = (name: string, path: string) => kubectl.must(["get", "pod", name, "-o", `jsonpath={${path}}`]);
const waitFor = (name: string, path: string, value: string) =>
  kubectl.must(["wait", `pod/${name}`, `--for=jsonpath={${path}}=${value}`, "--timeout=60s"]);
const succeeded = (name: string) => waitFor(name, ".status.phase", "Succeeded");
const failed = (name: string) => waitFor(name, ".status.phase", "Failed");
const state = ".status.containerStatuses[0].state";

/** Events are written beside the way of what they tell of. */
const hasEvents = (name: string, ...wanted: readonly (string | RegExp)[]) =>
  expect
    .poll(() => kubectl.must(["get", "events", "--field-selector", `involvedObject.name=${name}`]))
    .toSatisfy((events: string) => wanted.every((one) => events.search(one) >= 0), `${wanted.join(", ")} are told of`);

/** The container of a pod that runs. */
async function containerOf(name: string): Promise<string> {
  const filters = [`label=dev.slipway.pod=default/${name}`, "label=dev.slipway.role=task"];
  const { out } = await engine.docker("ps", "-q", ...filters.flatMap((filter) => ["-f", filter]));
  return out.trim();
}

test("a pod runs in its image with its variables, files and message, and says where", async () => {
  const script =
    'echo "$GREETING $POD_IP"; cat /config/key /memory/x; hostname; echo done > /dev/termination-log; test ! -e /usr/bin/dockerd';
  const volumes = [
    { name: "config", configMap: { name: "settings" } },
    { name: "memory", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
  ];
  const volumeMounts = [
    { name: "config", mountPath: "/config" },
    { name: "memory", mountPath: "/memory" },
  ];
  const env = [
    { name: "GREETING", valueFrom: { configMapKeyRef: { name: "settings", key: "key" } } },
    { name: "POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
  ];
  const initContainers = [
    { name: "init", image: testImage, command: ["/bin/sh", "-c", "echo from-init > /memory/x"], volumeMounts },
  ];
  const settings = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, data: { key: "hello" } };
  await apply(settings, pod("whole", script, { env, volumeMounts }, { volumes, initContainers }));
  await succeeded("whole");
  const address = await jsonPath("whole", ".status.podIP");
  expect(address).toMatch(/^(?:172|192)\./);
  expect(await kubectl.must(["logs", "whole"])).toBe(`hello ${address}\nhellofrom-init\nwhole\n`);
  expect(await jsonPath("whole", `${state}.terminated.message`)).toBe("done\n");
  expect(await jsonPath("whole", ".status.containerStatuses[0].containerID")).toMatch(/^docker:\/\//);
  expect(await jsonPath("whole", ".status.containerStatuses[0].imageID")).toMatch(/^sha256:/);
  await hasEvents("whole", "Scheduled", "Pulled", "Created", "Started");
});

test("limits are kept: too much memory ends a container, which is told; a user is who the document says", async () => {
  const limits = { resources: { limits: { memory: "16Mi", cpu: "500m" } } };
  await apply(pod("greedy", "exec tail -c 100m /dev/zero", limits));
  await apply(
    pod("somebody", "id -u; id -g; touch /x 2>/dev/null", { securityContext: { runAsUser: 7, runAsGroup: 8 } }),
  );
  await failed("greedy");
  expect(await jsonPath("greedy", `${state}.terminated.reason`)).toBe("OOMKilled");
  await failed("somebody");
  expect(await kubectl.must(["logs", "somebody"])).toBe("7\n8\n");
});

test("images that are not there: never pulled, or pulled in vain, with their reasons", async () => {
  await apply(pod("never", "true", { image: "nobody/has:this", imagePullPolicy: "Never" }));
  await apply(pod("vain", "true", { image: "127.0.0.1:1/no:such" }));
  await apply(pod("rooted", "true", { securityContext: { runAsNonRoot: true } }));
  await waitFor("never", `${state}.waiting.reason`, "ErrImageNeverPull");
  await waitFor("vain", `${state}.waiting.reason`, "ImagePullBackOff");
  await waitFor("rooted", `${state}.waiting.reason`, "CreateContainerConfigError");
  expect(await jsonPath("rooted", `${state}.waiting.message`)).toContain("image will run as root");
  await kubectl.must(["delete", "pod", "never", "vain", "rooted", "--wait=false"]);
});

test("an image comes from its registry with the pod's secret, not without; its own command runs", async () => {
  const registry = await startRegistry(await readFile(engine.rootTar), "me", "secret-word");
  const auths = { [registry.host]: { username: "me", password: "secret-word" } };
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "registry" },
    type: "kubernetes.io/dockerconfigjson",
    stringData: { ".dockerconfigjson": JSON.stringify({ auths }) },
  };
  const { apiVersion, kind } = pod("", "");
  const plain = (name: string, spec: object = {}) => ({
    apiVersion,
    kind,
    metadata: { name },
    spec: { restartPolicy: "Never", containers: [{ name: "main", image: `${registry.host}/${name}:1` }], ...spec },
  });
  await apply(secret, plain("stranger"), plain("member", { imagePullSecrets: [{ name: "registry" }] }));
  await succeeded("member");
  expect(await kubectl.must(["logs", "member"])).toBe("from the image\n");
  expect(await jsonPath("member", ".status.containerStatuses[0].imageID")).toMatch(/member@sha256:/);
  expect(registry.pulls()).toBeGreaterThan(0);
  await waitFor("stranger", `${state}.waiting.reason`, "ImagePullBackOff");
  await hasEvents("member", "Pulling", "Pulled");
  const events = await kubectl.must(["get", "events", "--field-selector", "involvedObject.name=member"]);
  expect(events).not.toContain("secret-word");
  await kubectl.must(["delete", "pod", "stranger", "--wait=false"]);
  await registry.close();
});

test("probes: not ready until the readiness probe says so, restarted when the liveness probe fails", async () => {
  const probe = (script: string, more: object = {}) => ({
    exec: { command: ["/bin/sh", "-c", script] },
    periodSeconds: 1,
    ...more,
  });
  const probes = {
    startupProbe: probe("test -e /tmp/started", { failureThreshold: 60 }),
    readinessProbe: { httpGet: { port: "web", path: "/index.html" }, periodSeconds: 1 },
    livenessProbe: probe('test ! -e /tmp/sick || { echo "sick of $WORD"; exit 1; }', { failureThreshold: 1 }),
    env: [{ name: "WORD", value: "hunter22" }],
    ports: [{ name: "web", containerPort: 8080 }],
    lifecycle: { postStart: { exec: { command: ["/bin/touch", "/tmp/started"] } } },
  };
  const probed = pod("probed", "httpd -p 8080 -h /tmp; exec sleep 600", probes, { restartPolicy: "Always" });
  const annotations = { "slipway.dev/mask-env": "WORD" };
  await apply({ ...probed, metadata: { ...probed.metadata, annotations } });
  await waitFor("probed", ".status.containerStatuses[0].started", "true");
  expect(await jsonPath("probed", ".status.containerStatuses[0].ready")).toBe("false");
  await hasEvents("probed", /Unhealthy.*Readiness probe.*statuscode: 404/);
  const id = await containerOf("probed");
  await engine.docker("exec", id, "/bin/touch", "/tmp/index.html");
  await kubectl.must(["wait", "pod/probed", "--for=condition=Ready", "--timeout=30s"]);
  await engine.docker("exec", id, "/bin/touch", "/tmp/sick");
  await waitFor("probed", ".status.containerStatuses[0].restartCount", "1");
  await hasEvents("probed", /Killing.*failed liveness probe/);
  // What a command says that runs beside a container goes without the container's values, too.
  await hasEvents("probed", /Unhealthy.*sick of \*\*\*/);
  await kubectl.must(["delete", "pod", "probed"]);
});

test("a Job and a Deployment run, and the Service's name leads to the Deployment's pods", async () => {
  const labels = { app: "web" };
  const container = {
    name: "web",
    image: testImage,
    command: ["/bin/sh", "-c", "hostname > /tmp/index.html; exec httpd -f -p 8080 -h /tmp"],
  };
  const template = { metadata: { labels }, spec: { terminationGracePeriodSeconds: 1, containers: [container] } };
  await apply(
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web" },
      spec: { selector: labels, ports: [{ port: 8080 }] },
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: { replicas: 2, selector: { matchLabels: labels }, template },
    },
  );
  await kubectl.must(["rollout", "status", "deployment/web", "--timeout=60s"]);
  const fetch = (name: string) => `until wget -qO- http://${name}:8080/; do sleep 0.5; done`;
  const names = ["web", "web.default", "web.default.svc", "web.default.svc.cluster.local"];
  const job = {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "ask" },
    spec: { template: { spec: pod("x", names.map(fetch).join("; ")).spec } },
  };
  await apply(job);
  await kubectl.must(["wait", "job/ask", "--for=condition=Complete", "--timeout=60s"]);
  expect((await kubectl.must(["logs", "job/ask"])).trim().split("\n")).toEqual(
    names.map(() => expect.stringMatching(/^web-/)),
  );
});

test("a server that is killed finds its pods again: nothing runs twice, ends are known, and what is gone is removed", async () => {
  // The log is written anew from the engine's copy, which has what the pod keeps out of it.
  const env = [{ name: "WORD", value: "hunter22" }];
  const untilTold = "until test -e /tmp/go; do sleep 0.1; done";
  const talker = pod(
    "long",
    `echo "begun $WORD"; ${untilTold}; echo "over $WORD"; echo "w=$WORD" > $SLIPWAY_OUTPUT; exit 5`,
    { env },
  );
  const annotations = { "slipway.dev/mask-env": "WORD" };
  await apply(
    { ...talker, metadata: { ...talker.metadata, annotations } },
    pod("short", `${untilTold}; exit 6`),
    pod("gone", "sleep 600"),
  );
  for (const name of ["long", "short", "gone"]) await waitFor(name, ".status.phase", "Running");
  await kubectl.must(["delete", "pod", "gone", "--wait=false", "--grace-period=600"]);
  const [short, long] = [await containerOf("short"), await containerOf("long")];
  await server.kill();
  await engine.docker("exec", short, "/bin/touch", "/tmp/go");
  await engine.docker("wait", short);
  server = await start();
  await engine.docker("exec", long, "/bin/touch", "/tmp/go");
  kubectl = await openKubectl(kubectlPaths[0], server.kubeconfig);
  for (const [name, code] of [
    ["long", "5"],
    ["short", "6"],
  ] as const) {
    await failed(name);
    expect(await jsonPath(name, `${state}.terminated.exitCode`)).toBe(code);
    expect(await jsonPath(name, ".status.containerStatuses[0].restartCount")).toBe("0");
  }
  expect(await kubectl.must(["logs", "long"])).toBe("begun ***\nover ***\n");
  expect(await jsonPath("long", `${state}.terminated.message`)).toBe("w=***\n");
  await kubectl.must(["delete", "pod", "gone", "--grace-period=0", "--force"]);
  await kubectl.must(["delete", "pod,job,deployment", "--all", "--timeout=60s"]);
  await expect.poll(async () => (await engine.docker("ps", "-aq")).out, { timeout: 60_000 }).toBe("");
});
