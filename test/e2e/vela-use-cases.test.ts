import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Kubectl, kubectlPaths, openKubectl } from "#test/support/kubectl.ts";
import {
  endRunner,
  exec,
  removeDirectory,
  root,
  slipway,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";

// The use cases of the proposal that need several control planes, several revisions or a repository.

const busy = 240_000;
const example = (name: string) => join(root, "examples/vela", name);

let directory = "";
let server: TestServer;
let kubectl: Kubectl;

beforeAll(async () => {
  directory = await temporaryDirectory();
  server = await startServer(join(directory, "data"), ["--vela-local-roots", directory]);
  kubectl = await openKubectl(kubectlPaths[0], server.kubeconfig);
}, busy);

afterAll(async () => {
  await server.stop();
  await endRunner(join(directory, "data"));
  await removeDirectory(directory);
}, busy);

const cli = (...words: readonly string[]) => slipway([...words, "--kubeconfig", server.kubeconfig]);
const valueOf = (what: string, path: string) => kubectl.must(["get", what, "-o", `jsonpath={${path}}`]);
const reaches = (what: string, path: string, value: string) =>
  kubectl.must(["wait", what, `--for=jsonpath={${path}}=${value}`, "--timeout=90s"]);

test(
  "17.15 14.1 replicas are spread over clusters that are joined, and one that is plugged in again completes",
  async () => {
    const clusters = await Promise.all(
      ["east", "west"].map(async (name) => {
        const data = join(directory, name);
        const other = await startServer(data);
        // The option before the verb names the control plane, the one after it the cluster to join.
        const words = ["cluster", "join", name, "--kubeconfig", other.kubeconfig, "--labels", `region=${name}`];
        const joined = await slipway(["--kubeconfig", server.kubeconfig, ...words]);
        expect(joined.code, joined.err).toBe(0);
        return { name, data, other, at: await openKubectl(kubectlPaths[0], other.kubeconfig) };
      }),
    );
    try {
      await kubectl.must(["apply", "-f", example("clusters.yaml")]);
      await reaches("app/clusters", ".status.workflow.status", "succeeded");
      const replicas = await Promise.all(
        clusters.map(({ at }) => at.must(["get", "deploy", "web", "-o", "jsonpath={.spec.replicas}"])),
      );
      expect(replicas).toEqual(["7", "2"]);
      expect((await kubectl.run(["get", "deploy", "web"])).code).toBe(1);
      const services = await valueOf("app/clusters", ".status.services[*].cluster");
      expect(services.split(" ").toSorted()).toEqual(["east", "west"]);
    } finally {
      for (const { data, other } of clusters) {
        await other.stop();
        await endRunner(data);
      }
    }
  },
  busy,
);

test(
  "17.15 14.2 a new revision runs beside the old one until a person approves or rejects it",
  async () => {
    await kubectl.must(["apply", "-f", example("blue-green.yaml")]);
    await reaches("app/blue-green", ".status.status", "running");
    const replicas = async (name: string) =>
      (await kubectl.run(["get", "deploy", name, "-o", "jsonpath={.spec.replicas}"])).out;
    const edit = async (version: string) => {
      const patch = [{ op: "replace", path: "/spec/components/0/properties/env/0/value", value: version }];
      await kubectl.must(["patch", "app", "blue-green", "--type=json", "-p", JSON.stringify(patch)]);
    };
    expect(await replicas("web-v1")).toBe("4");
    await edit("v2");
    await reaches("rollout/blue-green", ".status.phase", "paused");
    expect([await replicas("web-v1"), await replicas("web-v2")]).toEqual(["2", "2"]);
    expect(await valueOf("app/blue-green", ".status.status")).toBe("runningWorkflow");
    expect(await valueOf("app/blue-green", ".status.workflow.steps[2].resourceRef.kind")).toBe("Rollout");
    expect((await cli("approve", "app/blue-green", "promote")).code).toBe(0);
    await reaches("app/blue-green", ".status.status", "running");
    await expect.poll(() => replicas("web-v1"), { timeout: 30_000 }).toBe("");
    expect(await replicas("web-v2")).toBe("4");
    await edit("v3");
    await reaches("app/blue-green", ".status.latestRevision.name", "blue-green-v3");
    await reaches("rollout/blue-green", ".status.phase", "paused");
    expect((await cli("reject", "app/blue-green", "promote")).code).toBe(0);
    await reaches("app/blue-green", ".status.status", "workflowFailed");
    expect(await valueOf("app/blue-green", ".status.workflow.message")).toMatch(/rolled back to/);
    expect([await replicas("web-v2"), await replicas("web-v3")]).toEqual(["4", ""]);
  },
  busy,
);

test(
  "17.15 14.5 components come from a chart or a kustomization, by one write that settles",
  async () => {
    const repository = join(directory, "charts");
    const git = (...words: readonly string[]) => exec("git", ["-C", repository, ...words]);
    const put = async (path: string, text: string) => {
      await mkdir(join(repository, path, ".."), { recursive: true });
      await writeFile(join(repository, path), text);
    };
    const applicationOf = (
      name: string,
      component: string,
      image: string,
      replicas: string,
    ) => `apiVersion: core.oam.dev/v1beta1
kind: Application
metadata: {name: ${name}}
spec:
  components:
    - name: ${component}
      type: worker
      properties: {image: ${image}, cmd: [sh, -c, 'while true; do sleep 1; done']}
      traits: [{type: scaler, properties: {replicas: ${replicas}}}]
`;
    await put("chart/Chart.yaml", "apiVersion: v2\nname: chart\nversion: 1.0.0\n");
    const values = ["{{ .Values.image }}", "{{ .Values.replicas }}"] as const;
    await put("chart/templates/app.yaml", applicationOf("helm", "chart-web", ...values));
    await put("base/kustomization.yaml", "resources: [app.yaml]\n");
    await put("base/app.yaml", applicationOf("kustomize", "instance", "base-image", "1"));
    await git("init", "-q", "-b", "main");
    await git("add", "-A");
    await git("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "charts");
    for (const [name, image] of [
      ["helm", "my-image"],
      ["kustomize", "prod-image"],
    ] as const) {
      const text = (await readFile(example(`${name}.yaml`), "utf8")).replaceAll("/tmp/charts.git", repository);
      await kubectl.must(["apply", "-f", "-"], { input: text });
      await reaches(`app/${name}`, ".status.workflow.finished", "true");
      const steps = await valueOf(`app/${name}`, ".status.workflow.steps[*].message");
      expect(await valueOf(`app/${name}`, ".status.workflow.status"), steps).toBe("succeeded");
      expect(await valueOf(`app/${name}`, ".spec.components[0].properties.image")).toBe(image);
      expect(await valueOf(`app/${name}`, ".metadata.generation")).toBe("2");
    }
    expect(await valueOf("app/helm", ".spec.components[0].traits[0].properties.replicas")).toBe("3");
  },
  busy,
);
