import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import { Worker } from "../../kinds.ts";
import { apiVersionOf, type KubeObject, Pod, Secret } from "#kernel/model/index.ts";
import { literal } from "../../worker/kubernetes/literal.ts";
import type { WorkerIdentity } from "../backend.ts";
import type { WorkerRequest } from "../parameters.ts";
import { workerLabels } from "../worker-labels.ts";
import type { PodContainer, PodSettings } from "./pod-settings.ts";

export const podContainers = ["init", "app"] as const;

const repository = "/mnt/repo";
const results = "/var/lib/slipway/results";
const cloneFiles = "/etc/slipway/clone";
const buildFiles = "/etc/slipway/build";

const account = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Variables have members of their own. */
export const member = { clone: "clone.json", inputs: "inputs.json", accessToken: "access-token" } as const;
const variableMember = (index: number): string => `variable-${index}`;

/** Owner-readable; JSON numbers are decimal. */
const ownerReads = 0o400;
const sshMode = 0o600;

/** Kept apart from the Pod, which more people can read. Owned by the worker. */
export function workerSecret(worker: WorkerIdentity, request: WorkerRequest, accessToken: string): KubeObject {
  const { source, branch, ref, commit, token, subDirectory } = request;
  const members = {
    [member.clone]: JSON.stringify({ source, branch, ref, commit, token, subDirectory }),
    [member.inputs]: JSON.stringify(request.inputs),
    [member.accessToken]: accessToken,
    ...Object.fromEntries(Object.values(request.variables).map((text, index) => [variableMember(index), text])),
  };
  const encoded = Object.entries(members).map(([name, text]) => [name, Buffer.from(text).toString("base64")]);
  return {
    apiVersion: apiVersionOf(Secret),
    kind: Secret.kind,
    metadata: metadataOf(worker, request),
    type: "Opaque",
    immutable: true,
    data: Object.fromEntries(encoded),
  } as KubeObject;
}

/** `init` clones into a volume in which `app` builds; secrets are in the Secret of the same name. */
export function workerPod(worker: WorkerIdentity, request: WorkerRequest, settings: PodSettings): KubeObject {
  const { serviceAccountName, init, app, imagePullSecrets, configMapName } = settings;
  const configuration = mountOf("configuration", "/etc/iver-wharf/wharf-cmd", true);
  return {
    apiVersion: apiVersionOf(Pod),
    kind: Pod.kind,
    metadata: metadataOf(worker, request),
    spec: {
      restartPolicy: "Never",
      serviceAccountName,
      // Only `app` gets the account, because `init` handles foreign repositories.
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      ...(imagePullSecrets.length === 0 ? {} : { imagePullSecrets }),
      initContainers: [
        {
          name: podContainers[0],
          ...imageOf(init),
          command: ["slipway"],
          args: ["wharf", "launch-clone", `${cloneFiles}/${member.clone}`, repository],
          volumeMounts: [
            mountOf("repo", repository),
            mountOf("clone", cloneFiles, true),
            mountOf("git-ssh", "/root/.ssh", true),
          ],
        },
      ],
      containers: [
        {
          name: podContainers[1],
          ...imageOf(app),
          command: ["slipway"],
          args: runArguments(request, settings),
          workingDir: repository,
          env: environment(worker, request, settings),
          ports: [{ name: "results", containerPort: settings.port }],
          volumeMounts: [
            mountOf("repo", repository),
            mountOf("results", results),
            mountOf("build", buildFiles, true),
            mountOf("account", account, true),
            ...(configMapName === undefined ? [] : [configuration]),
          ],
        },
      ],
      volumes: [
        { name: "repo", emptyDir: {} },
        { name: "results", emptyDir: {} },
        secretVolume("clone", worker.name, [member.clone]),
        secretVolume("build", worker.name, [member.inputs, member.accessToken]),
        accountVolume,
        { name: "git-ssh", secret: { secretName: "wharf-cmd-worker-git-ssh", optional: true, defaultMode: sshMode } },
        ...(configMapName === undefined ? [] : [{ name: "configuration", configMap: { name: configMapName } }]),
      ],
    },
  };
}

/** Arguments are visible, so inputs are in a file. Given texts are escaped: they must not expand variables of the
 * settings. */
function runArguments(request: WorkerRequest, { extraArgs, port }: PodSettings): readonly string[] {
  const { instance, buildRef, projectId, environment: selected, stages, subDirectory } = request;
  const option = (name: string, value: string | undefined) => (value === undefined ? [] : [name, literal(value)]);
  return [
    "wharf",
    "run",
    "--serve",
    ...option("--address", `0.0.0.0:${port}`),
    ...option("--auth-token-file", `${buildFiles}/${member.accessToken}`),
    ...option("--results-dir", results),
    ...option("--runtime", "kubernetes"),
    ...option("--output", "plain"),
    ...option("--instance", instance),
    ...option("--build-id", buildRef === 0 ? undefined : `${buildRef}`),
    ...option("--project-id", projectId === 0 ? undefined : `${projectId}`),
    ...option("--environment", selected),
    ...option("--stage", stages),
    ...option("--input-file", `${buildFiles}/${member.inputs}`),
    ...extraArgs,
    "--",
    literal(subDirectory ?? "."),
  ];
}

/** From the Secret; variables of the settings come last and win. */
function environment(worker: WorkerIdentity, { variables }: WorkerRequest, { extraEnvs }: PodSettings): JsonValue[] {
  const field = (name: string, fieldPath: string): JsonObject => ({ name, valueFrom: { fieldRef: { fieldPath } } });
  const fromSecret = (name: string, index: number): JsonObject => ({
    name: `WHARF_VAR_${name}`,
    valueFrom: { secretKeyRef: { name: worker.name, key: variableMember(index) } },
  });
  return [
    { name: "WHARF_KUBERNETES_OWNER_ENABLE", value: "true" },
    field("WHARF_KUBERNETES_OWNER_NAME", "metadata.name"),
    field("WHARF_KUBERNETES_OWNER_UID", "metadata.uid"),
    ...Object.keys(variables).map(fromSecret),
    ...extraEnvs,
  ];
}

const metadataOf = (worker: WorkerIdentity, request: WorkerRequest) => ({
  name: worker.name,
  namespace: worker.namespace,
  labels: workerLabels(worker, request),
  ownerReferences: [
    {
      apiVersion: apiVersionOf(Worker),
      kind: Worker.kind,
      name: worker.name,
      uid: worker.uid,
      controller: true,
      blockOwnerDeletion: true,
    },
  ],
});

const imageOf = ({ image, imagePullPolicy }: PodContainer) => ({
  image,
  ...(imagePullPolicy === undefined ? {} : { imagePullPolicy }),
});

const mountOf = (name: string, mountPath: string, readOnly = false) => ({
  name,
  mountPath,
  ...(readOnly ? { readOnly } : {}),
});

const secretVolume = (name: string, secretName: string, keys: readonly string[]) => ({
  name,
  secret: { secretName, defaultMode: ownerReads, items: keys.map((key) => ({ key, path: key })) },
});

const accountVolume: JsonObject = {
  name: "account",
  projected: {
    sources: [
      { serviceAccountToken: { path: "token", expirationSeconds: 3607 } },
      { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
      { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
    ],
  },
};
