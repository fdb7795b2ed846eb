import type { JsonObject } from "#lib/base/index.ts";
import type { KubeObject, OwnerReference } from "#kernel/model/index.ts";
import type { EnvEntry, Mount, StepPlan } from "../../plan/step-plan.ts";
import { artifactsDirectory } from "../docker/container-words.ts";
import { type BuildIdentity, stepLabels, stepNames } from "../step-labels.ts";
import type { HelperImages } from "./helper-images.ts";
import { literal } from "./literal.ts";
import type { PullPolicy } from "./pull-policy.ts";

export const podContainers = { init: "init", step: "step", artifacts: "artifacts" } as const;

/** Annotation with the worker that created a Pod; too long for a label. */
export const ownerAnnotation = "slipway.dev/owner";
/** Annotation of Pods that are kept for inspection. */
export const keepAnnotation = "slipway.dev/keep";

export interface PodOptions {
  /** Chosen here, so that creation can be repeated. */
  readonly name: string;
  readonly namespace: string;
  readonly build: BuildIdentity;
  readonly stageId: number | undefined;
  readonly owner: string;
  readonly ownerReferences: readonly OwnerReference[];
  readonly images: HelperImages;
  readonly pull?: PullPolicy | undefined;
  readonly graceMs: number;
  readonly hasArtifacts: boolean;
  readonly isKept: boolean;
}

type Variables = Readonly<Record<string, string>>;

const usualAccount = "wharf-cmd";

/** `init` writes its process id here; the file is gone when the step starts. */
export const waitingFile = (podName: string): string => `/mnt/repo/.${podName}`;

/** The Pod of a step; Secrets and ConfigMaps are referenced only. Pure. */
export function stepPod(step: StepPlan, variables: Variables, options: PodOptions): KubeObject {
  const { name, namespace, build, stageId, owner, ownerReferences, graceMs, hasArtifacts, isKept } = options;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      labels: stepLabels(step, stageId, build),
      annotations: { ...stepNames(step), [ownerAnnotation]: owner, ...(isKept ? { [keepAnnotation]: "true" } : {}) },
      ...(ownerReferences.length === 0 ? {} : { ownerReferences }),
    },
    spec: {
      restartPolicy: "Never",
      serviceAccountName: step.serviceAccount ?? usualAccount,
      terminationGracePeriodSeconds: Math.ceil(graceMs / 1000),
      // Steps do not see addresses of unrelated Services.
      enableServiceLinks: false,
      ...(step.os === "linux" ? {} : { nodeSelector: { "kubernetes.io/os": step.os } }),
      initContainers: [initContainer(options, step)],
      containers: [
        stepContainer(step, variables, options),
        ...(hasArtifacts || isKept ? [sidecar(step, options)] : []),
      ],
      volumes: [
        { name: "repo", emptyDir: {} },
        { name: "artifacts", emptyDir: {} },
        ...step.mounts.map((mount, index) => volumeOf(mount, volumeName(index))),
      ],
    },
  };
}

/** Waits for SIGINT, which says that the repository is complete, and records its own process id first, which is not 1
 * where containers share the host's. If the worker is gone the Pod fails after three hours. */
const initScript = ["trap 'exit 0' INT", 'echo $$ > "$1"', "sleep 10800 &", "wait $!", "exit 1"].join("\n");

const initContainer = ({ name, images }: PodOptions, { workdir }: StepPlan): JsonObject => ({
  name: podContainers.init,
  image: images.init,
  imagePullPolicy: "IfNotPresent",
  command: ["/bin/sh", "-c", literal(initScript)],
  args: ["init", waitingFile(name)],
  volumeMounts: [{ name: "repo", mountPath: workdir }],
});

/** Keeps the Pod for a day, so that files can be fetched. */
const sidecarScript = ["trap 'exit 0' TERM", "sleep 86400 &", "wait $!"].join("\n");

/** In kept Pods it mounts the repository too. */
const sidecar = ({ workdir, artifacts, testResults }: StepPlan, { images, isKept }: PodOptions): JsonObject => ({
  name: podContainers.artifacts,
  image: images.artifacts,
  imagePullPolicy: "IfNotPresent",
  command: ["/bin/sh", "-c", literal(sidecarScript)],
  volumeMounts: [
    { name: "artifacts", mountPath: artifactsDirectory, readOnly: true },
    ...(artifacts.length + testResults.length === 0 && !isKept
      ? []
      : [{ name: "repo", mountPath: workdir, readOnly: true }]),
  ],
});

function stepContainer(step: StepPlan, variables: Variables, { pull }: PodOptions): JsonObject {
  return {
    name: podContainers.step,
    image: step.image,
    imagePullPolicy: pull === undefined ? step.pullPolicy : policies[pull],
    ...(step.entry === undefined ? {} : { command: step.entry.map(literal) }),
    ...(step.args.length === 0 ? {} : { args: step.args.map(literal) }),
    workingDir: step.workdir,
    env: [
      ...Object.entries({ ...variables, WHARF_ARTIFACTS_DIR: artifactsDirectory }).map(([name, value]) => ({
        name,
        value: literal(value),
      })),
      ...step.env.flatMap(secretVariable),
    ],
    ...(step.envFrom.length === 0 ? {} : { envFrom: step.envFrom.map((name) => ({ secretRef: { name } })) }),
    volumeMounts: [
      { name: "repo", mountPath: step.workdir },
      { name: "artifacts", mountPath: artifactsDirectory },
      ...step.mounts.map(({ path, readOnly }, index) => ({ name: volumeName(index), mountPath: path, readOnly })),
    ],
  };
}

const policies: Readonly<Record<PullPolicy, string>> = { always: "Always", missing: "IfNotPresent", never: "Never" };

const secretVariable = (entry: EnvEntry): readonly JsonObject[] =>
  "value" in entry ? [] : [{ name: entry.name, valueFrom: { secretKeyRef: { ...entry.secretRef } } }];

const volumeName = (index: number): string => `mount-${index + 1}`;

function volumeOf({ kind, name, items }: Mount, volume: string): JsonObject {
  const picked = items && { items: Object.entries(items).map(([key, path]) => ({ key, path })) };
  return kind === "secret"
    ? { name: volume, secret: { secretName: name, ...picked } }
    : { name: volume, configMap: { name, ...picked } };
}
