import { describe, expect, test } from "vitest";
import { asJson, type KubeObject } from "#kernel/model/index.ts";
import { type Parameters, readParameters } from "../parameters.ts";
import { podSettings } from "./pod-settings.ts";
import { workerPod, workerSecret } from "./worker-pod.ts";

const worker = { namespace: "ci", name: "wharf-cmd-worker-local-7", uid: "019ab000-0000-7000-8000-00000000000a" };
function request(more: Parameters = {}) {
  const given = { GIT_FULLURL: "https://example.org/a.git", ...more };
  const read = readParameters(given, { instance: "local", allowLocalRepos: false });
  if (!read.ok) throw new Error(JSON.stringify(read.error));
  return read.value;
}
const metadata = (buildRef: string, projectId: string) => ({
  name: worker.name,
  namespace: "ci",
  labels: {
    app: "wharf-cmd-worker",
    "app.kubernetes.io/name": "wharf-cmd-worker",
    "app.kubernetes.io/part-of": "wharf",
    "app.kubernetes.io/managed-by": "wharf-cmd-provisioner",
    "app.kubernetes.io/created-by": "wharf-cmd-provisioner",
    "wharf.iver.com/instance": "local",
    "wharf.iver.com/build-ref": buildRef,
    "wharf.iver.com/project-id": projectId,
    "slipway.dev/worker": worker.name,
    "slipway.dev/worker-uid": worker.uid,
  },
  ownerReferences: [
    {
      apiVersion: "wharf.slipway.dev/v1alpha1",
      kind: "Worker",
      name: worker.name,
      uid: worker.uid,
      controller: true,
      blockOwnerDeletion: true,
    },
  ],
});
const owner = [
  { name: "WHARF_KUBERNETES_OWNER_ENABLE", value: "true" },
  { name: "WHARF_KUBERNETES_OWNER_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
  { name: "WHARF_KUBERNETES_OWNER_UID", valueFrom: { fieldRef: { fieldPath: "metadata.uid" } } },
];
const secretVolume = (name: string, ...keys: readonly string[]) => ({
  name,
  secret: { secretName: worker.name, defaultMode: 0o400, items: keys.map((key) => ({ key, path: key })) },
});
const volumes = [
  { name: "repo", emptyDir: {} },
  { name: "results", emptyDir: {} },
  secretVolume("clone", "clone.json"),
  secretVolume("build", "inputs.json", "access-token"),
  {
    name: "account",
    projected: {
      sources: [
        { serviceAccountToken: { path: "token", expirationSeconds: 3607 } },
        { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
        { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
      ],
    },
  },
  { name: "git-ssh", secret: { secretName: "wharf-cmd-worker-git-ssh", optional: true, defaultMode: 0o600 } },
];
const init = {
  name: "init",
  command: ["slipway"],
  args: ["wharf", "launch-clone", "/etc/slipway/clone/clone.json", "/mnt/repo"],
  volumeMounts: [
    { name: "repo", mountPath: "/mnt/repo" },
    { name: "clone", mountPath: "/etc/slipway/clone", readOnly: true },
    { name: "git-ssh", mountPath: "/root/.ssh", readOnly: true },
  ],
};
const app = {
  name: "app",
  command: ["slipway"],
  workingDir: "/mnt/repo",
  ports: [{ name: "results", containerPort: 5010 }],
};
const mounts = [
  { name: "repo", mountPath: "/mnt/repo" },
  { name: "results", mountPath: "/var/lib/slipway/results" },
  { name: "build", mountPath: "/etc/slipway/build", readOnly: true },
  { name: "account", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount", readOnly: true },
];
/** Words of a command line, none of which has a space. */
const words = (text: string): readonly string[] => text.trim().split(/\s+/);
const begin = words(`
  wharf run --serve --address 0.0.0.0:5010 --auth-token-file /etc/slipway/build/access-token
  --results-dir /var/lib/slipway/results --runtime kubernetes --output plain --instance local
`);
const inputs = ["--input-file", "/etc/slipway/build/inputs.json"];

describe("the Pod of a worker", () => {
  test("minimal", () => {
    expect(workerPod(worker, request(), podSettings({}, "1.2.3"))).toEqual({
      apiVersion: "v1",
      kind: "Pod",
      metadata: metadata("0", "0"),
      spec: {
        restartPolicy: "Never",
        serviceAccountName: "wharf-cmd",
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        initContainers: [{ ...init, image: "slipway:1.2.3" }],
        containers: [
          { ...app, image: "slipway:1.2.3", args: [...begin, ...inputs, "--", "."], env: owner, volumeMounts: mounts },
        ],
        volumes,
      },
    });
  });

  test("full", () => {
    const settings = podSettings(
      {
        "provisioner.k8s.worker.serviceAccountName": "builder",
        "provisioner.k8s.worker.initContainer.image": "registry:5000/clone",
        "provisioner.k8s.worker.initContainer.imageTag": "v2",
        "provisioner.k8s.worker.initContainer.imagePullPolicy": "Always",
        "provisioner.k8s.worker.container.image": "registry:5000/slipway:own",
        "provisioner.k8s.worker.imagePullSecrets": [{ name: "registry" }],
        "provisioner.k8s.worker.configMapName": "wharf-config",
        "provisioner.k8s.worker.extraEnvs": [{ name: "HTTPS_PROXY", value: "http://proxy" }],
        "provisioner.k8s.worker.extraArgs": ["--loglevel", "debug"],
      },
      "1.2.3",
    );
    const asked = request({
      BUILD_REF: "7",
      WHARF_PROJECT_ID: "3",
      ENVIRONMENT: "stage",
      RUN_STAGES: "a,b",
      SUB_DIR: "sub/dir",
      REPO_NAME: "r",
    });
    const configuration = { name: "configuration", mountPath: "/etc/iver-wharf/wharf-cmd", readOnly: true };
    const variable = (name: string, key: string) => ({
      name,
      valueFrom: { secretKeyRef: { name: worker.name, key } },
    });
    expect(workerPod(worker, asked, settings)).toEqual({
      apiVersion: "v1",
      kind: "Pod",
      metadata: metadata("7", "3"),
      spec: {
        restartPolicy: "Never",
        serviceAccountName: "builder",
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        imagePullSecrets: [{ name: "registry" }],
        initContainers: [{ ...init, image: "registry:5000/clone:v2", imagePullPolicy: "Always" }],
        containers: [
          {
            ...app,
            image: "registry:5000/slipway:own",
            args: [
              ...begin,
              ...words("--build-id 7 --project-id 3 --environment stage --stage a,b"),
              ...inputs,
              ...words("--loglevel debug -- sub/dir"),
            ],
            env: [
              ...owner,
              variable("WHARF_VAR_REPO_NAME", "variable-0"),
              variable("WHARF_VAR_BUILD_REF", "variable-1"),
              { name: "HTTPS_PROXY", value: "http://proxy" },
            ],
            volumeMounts: [...mounts, configuration],
          },
        ],
        volumes: [...volumes, { name: "configuration", configMap: { name: "wharf-config" } }],
      },
    });
  });

  test("what is asked for is no reference to its variables", () => {
    const asked = request({ ENVIRONMENT: "$(TOKEN)", RUN_STAGES: "a$$(TOKEN),$b", SUB_DIR: "$(TOKEN)/x" });
    const { args } = (
      workerPod(worker, asked, podSettings({}, "1")) as unknown as {
        spec: { containers: [{ args: string[] }] };
      }
    ).spec.containers[0];
    const kubernetesReads = args.map((word) =>
      word.replaceAll(/\$\$|\$\(TOKEN\)/g, (found) => (found === "$$" ? "$" : "secret")),
    );
    expect(kubernetesReads).toEqual([
      ...begin,
      ...words("--environment $(TOKEN) --stage a$$(TOKEN),$b"),
      ...inputs,
      ...words("-- $(TOKEN)/x"),
    ]);
  });

  test("what may be secret is in its Secret alone, of which each container has its part", () => {
    const secrets = { GIT_TOKEN: "t0ken", VARS: '{"password": "inpu7"}', ADDITIONAL_VARS: '{"X": "additi0nal"}' };
    const asked = request({ ...secrets, GIT_FULLURL: "https://u:pa55@example.org/a.git" });
    const pod = JSON.stringify(workerPod(worker, asked, podSettings({}, "1")));
    for (const secret of ["pa55", "t0ken", "inpu7", "additi0nal", "acce55"]) expect(pod).not.toContain(secret);
    const members = membersOf(workerSecret(worker, asked, "acce55"));
    expect(JSON.parse(members["clone.json"] ?? "")).toMatchObject({ token: "t0ken", source: { password: "pa55" } });
    expect(members).toMatchObject({
      "inputs.json": '{"password":"inpu7"}',
      "access-token": "acce55",
      "variable-0": "additi0nal",
    });
    // Steps that run within the second container have nothing of the first one's.
    expect(members["inputs.json"]).not.toContain("t0ken");
  });
});

/** Members of a Secret as texts. */
const membersOf = (secret: KubeObject): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(asJson(secret)["data"] ?? {}).map(([name, text]) => [
      name,
      Buffer.from(String(text), "base64").toString(),
    ]),
  );
