import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { readYaml } from "#lib/yaml/index.ts";
import type { PrepareRequest } from "../../prepare.ts";
import { fileVariables, prepared } from "../../testing/prepared.ts";
import { shellStep } from "../testing/step-job.ts";
import { podOwner } from "./open-kubernetes.ts";
import { type PodOptions, stepPod } from "./step-pod.ts";

const options: PodOptions = {
  name: "wharf-build-x-0a1b2c3d",
  namespace: "builds",
  build: { instance: "local", buildId: 12, projectId: 7 },
  stageId: 1,
  owner: "host 1 2 boot",
  ownerReferences: [],
  images: { init: "alpine:3", artifacts: "alpine:3" },
  graceMs: 10_000,
  hasArtifacts: false,
  isKept: false,
};

const texts = {
  REG_URL: "registry.example",
  REPO_GROUP: "group",
  REPO_NAME: "app",
  CHART_REPO: "https://charts.example",
};
const helmSecret = { ...texts, HELM_REG_SECRET: "helm-login" };

/** Minimal and full, of each type; the Pods are in the file of golden ones under these words. */
const steps: Readonly<Record<string, readonly [string, Readonly<Record<string, string>>]>> = {
  "container, minimal": ["container: {image: alpine, cmds: [a, b]}", texts],
  "container, full": [
    "container: {image: w, cmds: ['echo $(A) $$'], os: windows, shell: /bin/sh, secretName: s, serviceAccount: acc, " +
      "certificatesMountPath: /certs, artifacts: [out/*], testResults: ['*.trx'], env: {A: $(b)}, timeout: 1m30s}",
    texts,
  ],
  "docker, minimal": ["docker: {file: Dockerfile, tag: latest}", texts],
  "docker, full": [
    "docker: {file: ./d/Dockerfile, tag: '1,latest', name: app, group: Default/x, registry: r, context: ./sub, secret: mine, " +
      "push: false, args: [A=1], secretName: s, secretArgs: [TOKEN=key]}",
    { ...texts, REG_INSECURE: "true" },
  ],
  "helm, minimal": ["helm: {chart: c, name: web, namespace: ns}", helmSecret],
  "helm, full": [
    "helm: {chart: c, name: web, namespace: ns, repo: stage, set: {a: b}, files: [v.yml], chartVersion: 1.2.3, helmVersion: v3, cluster: other, secret: s}",
    texts,
  ],
  "helm-package, minimal": ["helm-package: {}", helmSecret],
  "helm-package, full": ["helm-package: {version: 1.2.3, chart-path: c, destination: oci://r, secret: s}", texts],
  "kubectl, minimal": ["kubectl: {file: a.yml}", texts],
  "kubectl, full": [
    "kubectl: {files: [a.yml, b.yml], namespace: ns, action: delete, force: true, cluster: other}",
    texts,
  ],
  "nuget-package, minimal": ["nuget-package: {version: 1.0.0, project-path: p, repo: https://n}", texts],
  "nuget-package, full": [
    "nuget-package: {version: 1.0.0, project-path: p, repo: https://n, skip-duplicate: true, certificatesMountPath: /certs}",
    texts,
  ],
};

function planOf(step: string, variables: Readonly<Record<string, string>>) {
  const request: Partial<PrepareRequest> = { projectId: 7, buildId: 12, surroundings: fileVariables(variables) };
  const plan = prepared(`stage:\n  My step: {${step}}\n`, request).plan?.stages[0]?.steps[0];
  if (plan === undefined) throw new Error(`no plan of ${step}`);
  return plan;
}

/** The Pod as the runtime makes it: of variables that are secrets only the names are known. */
function podOf(title: string) {
  const [text, variables] = steps[title] ?? ["", {}];
  const step = planOf(text, variables);
  const env = Object.fromEntries(step.env.flatMap((entry) => ("value" in entry ? [[entry.name, entry.value]] : [])));
  return stepPod(step, env, { ...options, hasArtifacts: step.artifacts.length > 0 });
}

const read = readYaml(readFileSync(new URL("./testdata/pods.yaml", import.meta.url), "utf8"), { file: "pods.yaml" });
const golden = (read.ok ? read.value.documents[0]?.value : {}) as Readonly<Record<string, JsonObject>>;

test.each(Object.keys(steps))("the Pod of %s is the golden one", (title) => {
  const { spec, ...rest } = podOf(title);
  if (title.startsWith("container")) return expect({ ...rest, spec }).toEqual(golden[title]);
  const { containers, volumes, ...alike } = spec as JsonObject;
  expect({ containers, volumes }).toEqual(golden[title]);
  const { spec: usual, ...usualRest } = podOf("container, minimal");
  const { containers: _own, volumes: _too, ...usualAlike } = usual as JsonObject;
  expect({ ...rest, spec: alike }).toEqual({ ...usualRest, spec: { ...usualAlike, serviceAccountName: "wharf-cmd" } });
});

test("a policy for the build wins over that of the step, the Pod is owned if there is an owner, and kept if it is to be", () => {
  const references = podOwner({
    WHARF_KUBERNETES_OWNER_ENABLE: "true",
    WHARF_KUBERNETES_OWNER_NAME: "worker",
    WHARF_KUBERNETES_OWNER_UID: "u",
  }).references;
  const made = stepPod(shellStep("true"), {}, { ...options, pull: "never", ownerReferences: references, isKept: true });
  expect(made.metadata.ownerReferences).toEqual([
    { apiVersion: "v1", kind: "Pod", name: "worker", uid: "u", blockOwnerDeletion: true, controller: true },
  ]);
  expect(made.metadata.annotations).toMatchObject({ "slipway.dev/keep": "true" });
  // Who looks at it afterwards does that in the container that still runs, and sees all files there.
  const volumeMounts = ["artifacts", "repo"].map((name) => expect.objectContaining({ name, readOnly: true }));
  expect(made).toMatchObject({
    spec: { containers: [{ imagePullPolicy: "Never" }, { name: "artifacts", volumeMounts }] },
  });
});

test("Pods have no owner unless that is asked for, and one that is not named is told", () => {
  expect(podOwner({ WHARF_KUBERNETES_OWNER_NAME: "worker", WHARF_KUBERNETES_OWNER_UID: "u" })).toEqual({
    references: [],
  });
  const { references, warning } = podOwner({ WHARF_KUBERNETES_OWNER_ENABLE: "true", WHARF_KUBERNETES_OWNER_NAME: "w" });
  expect([references, warning]).toEqual([[], expect.stringContaining("WHARF_KUBERNETES_OWNER_UID is not")]);
});
