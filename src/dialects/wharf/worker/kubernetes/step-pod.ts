import type { JsonObject } from "#lib/base/index.ts";
import type { KubeObject, OwnerReference } from "#kernel/model/index.ts";
import type { EnvEntry, Mount, StepPlan } from "../../plan/step-plan.ts";
import { artifactsDirectory } from "../docker/container-words.ts";
import { type BuildIdentity, stepLabels, stepNames } from "../step-labels.ts";
import type { HelperImages } from "./helper-images.ts";
import { literal } from "./literal.ts";
import type { PullPolicy } from "./pull-policy.ts";

/** Containers of a step's Pod: what gets the repository in, the step itself, and what hands out its files afterwards. */
export const podContainers = { init: "init", step: "step", artifacts: "artifacts" } as const;

/** Says of a Pod which worker has made it; not a label, whose values are shorter. */
export const ownerAnnotation = "slipway.dev/owner";
/** Says of a Pod that it was made to be looked at afterwards, whoever is gone. */
export const keepAnnotation = "slipway.dev/keep";

export interface PodOptions {
  /** Chosen here, so that a creation whose answer was lost can be repeated. */
  readonly name: string;
  readonly namespace: string;
  readonly build: BuildIdentity;
  readonly stageId: number | undefined;
  /** See `owner-label.ts`. */
  readonly owner: string;
  readonly ownerReferences: readonly OwnerReference[];
  readonly images: HelperImages;
  /** For the step's image instead of what the step says. */
  readonly pull?: PullPolicy | undefined;
  /** What a step that is cancelled has to end politely, in milliseconds; Kubernetes counts whole seconds. */
  readonly graceMs: number;
  /** Files of the step may be wanted after its end. */
  readonly hasArtifacts: boolean;
  /** Left for people to look at, also by later workers. */
  readonly isKept: boolean;
}

/** What a step is given that is not a secret. */
type Variables = Readonly<Record<string, string>>;

/** Account of steps that name none. */
const usualAccount = "wharf-cmd";

/** The file in which `init` says whom to tell that the repository is complete; it is gone when the step begins. */
export const waitingFile = (podName: string): string => `/mnt/repo/.${podName}`;

/**
 * The Pod of a step. Secrets and ConfigMaps are only named in it: their values come from the cluster. A pure function: the same step and options are
 * the same Pod.
 */
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
      // A step sees what its image and its plan give it, and no address of a Service that happens to be beside it.
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

/**
 * Waits for INT, which says that the repository is complete. First it says under which number it hears it: number 1 in a Pod, another one where
 * containers share the machine's. A worker that is gone leaves a Pod that fails by itself in the end.
 */
const initScript = ["trap 'exit 0' INT", 'echo $$ > "$1"', "sleep 10800 &", "wait $!", "exit 1"].join("\n");

const initContainer = ({ name, images }: PodOptions, { workdir }: StepPlan): JsonObject => ({
  name: podContainers.init,
  image: images.init,
  imagePullPolicy: "IfNotPresent",
  command: ["/bin/sh", "-c", literal(initScript)],
  args: ["init", waitingFile(name)],
  volumeMounts: [{ name: "repo", mountPath: workdir }],
});

/** Is there so that files can be fetched after the step has ended; a day is longer than that takes. */
const sidecarScript = ["trap 'exit 0' TERM", "sleep 86400 &", "wait $!"].join("\n");

/** Changes nothing of what the step has left. In a Pod that is kept it is where people look at that, hence sees all of it. */
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
