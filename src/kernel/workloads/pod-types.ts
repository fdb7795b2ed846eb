import type { Condition } from "#kernel/kit/index.ts";
import type { KubeObject, ObjectMeta } from "#kernel/model/index.ts";

// The parts of Kubernetes' Pod that the controllers of this folder read and write. Everything else is kept as it is.

/** One key of a ConfigMap or Secret of the pod's namespace. */
export interface KeySelector {
  readonly name?: string;
  readonly key: string;
  readonly optional?: boolean;
}

/** `metadata.name`, `metadata.labels['app']`, …; see `fieldValue`. */
export interface FieldSelector {
  readonly fieldPath: string;
}

/** `limits.cpu`, `requests.memory`, …; see `resourceValue`. */
export interface ResourceSelector {
  /** The container that asks when absent. */
  readonly containerName?: string;
  readonly resource: string;
  /** A quantity; absent and `0` mean 1. */
  readonly divisor?: string;
}

/** One of `value` and `valueFrom`; with neither the value is empty. */
export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: FieldSelector;
    readonly resourceFieldRef?: ResourceSelector;
    readonly configMapKeyRef?: KeySelector;
    readonly secretKeyRef?: KeySelector;
  };
}

/** All keys of a ConfigMap or Secret as variables. */
export interface EnvSource {
  readonly prefix?: string;
  readonly configMapRef?: { readonly name?: string; readonly optional?: boolean };
  readonly secretRef?: { readonly name?: string; readonly optional?: boolean };
}

export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
  readonly subPath?: string;
  readonly subPathExpr?: string;
}

/** What is not named here has no effect, and is told; see `supportFor`. */
export interface SecurityContext {
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly runAsNonRoot?: boolean;
  /** Of pods only. */
  readonly sysctls?: readonly { readonly name: string; readonly value: string }[];
  readonly [other: string]: unknown;
}

/** A number, or the name of a port of the container. */
export type PortReference = number | string;

/** What a hook or probe does. */
export interface Handler {
  readonly exec?: { readonly command?: readonly string[] };
  readonly httpGet?: {
    readonly host?: string;
    readonly port: PortReference;
    readonly path?: string;
    /** HTTP or HTTPS, whose certificate is not looked at. */
    readonly scheme?: string;
    readonly httpHeaders?: readonly { readonly name: string; readonly value: string }[];
  };
  readonly tcpSocket?: { readonly host?: string; readonly port: PortReference };
  /** Of probes only. */
  readonly grpc?: { readonly port: number; readonly service?: string };
  /** Of hooks only. */
  readonly sleep?: { readonly seconds: number };
  readonly [other: string]: unknown;
}

/** Times are in seconds. The API server has filled in 1 s of time-out, 10 s of period, one success and three failures. */
export interface Probe extends Handler {
  readonly initialDelaySeconds?: number;
  readonly timeoutSeconds?: number;
  readonly periodSeconds?: number;
  readonly successThreshold?: number;
  readonly failureThreshold?: number;
  /** In place of the pod's own, when this probe ends the container. */
  readonly terminationGracePeriodSeconds?: number;
}

export interface ContainerPort {
  readonly name?: string;
  readonly containerPort?: number;
  readonly hostPort?: number;
  readonly hostIP?: string;
  readonly protocol?: string;
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly workingDir?: string;
  readonly env?: readonly EnvVar[];
  readonly envFrom?: readonly EnvSource[];
  readonly volumeMounts?: readonly VolumeMount[];
  readonly volumeDevices?: readonly unknown[];
  readonly ports?: readonly ContainerPort[];
  readonly imagePullPolicy?: string;
  readonly resources?: {
    readonly limits?: Readonly<Record<string, string>>;
    readonly requests?: Readonly<Record<string, string>>;
  };
  readonly securityContext?: SecurityContext;
  readonly lifecycle?: { readonly preStop?: Handler; readonly postStart?: Handler };
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly startupProbe?: Probe;
  readonly restartPolicy?: string;
  readonly stdin?: boolean;
  readonly tty?: boolean;
  readonly terminationMessagePath?: string;
  readonly terminationMessagePolicy?: string;
}

export interface KeyToPath {
  readonly key: string;
  /** Relative to the volume. */
  readonly path: string;
  readonly mode?: number;
}

export interface DownwardItem {
  readonly path: string;
  readonly fieldRef?: FieldSelector;
  readonly resourceFieldRef?: ResourceSelector;
  readonly mode?: number;
}

/** A token of the pod's account, as a file. */
export interface AccountTokenSource {
  readonly path: string;
  readonly audience?: string;
  readonly expirationSeconds?: number;
}

export interface ProjectedSource {
  readonly configMap?: { readonly name?: string; readonly items?: readonly KeyToPath[]; readonly optional?: boolean };
  readonly secret?: { readonly name?: string; readonly items?: readonly KeyToPath[]; readonly optional?: boolean };
  readonly downwardAPI?: { readonly items?: readonly DownwardItem[] };
  readonly serviceAccountToken?: AccountTokenSource;
  readonly [other: string]: unknown;
}

/** Exactly one source. Those that are not named here are refused by name. */
export interface Volume {
  readonly name: string;
  readonly emptyDir?: { readonly medium?: string; readonly sizeLimit?: string };
  readonly hostPath?: { readonly path: string; readonly type?: string };
  readonly configMap?: {
    readonly name?: string;
    readonly items?: readonly KeyToPath[];
    readonly defaultMode?: number;
    readonly optional?: boolean;
  };
  readonly secret?: {
    readonly secretName?: string;
    readonly items?: readonly KeyToPath[];
    readonly defaultMode?: number;
    readonly optional?: boolean;
  };
  readonly downwardAPI?: { readonly items?: readonly DownwardItem[]; readonly defaultMode?: number };
  readonly persistentVolumeClaim?: { readonly claimName: string; readonly readOnly?: boolean };
  readonly projected?: { readonly sources?: readonly ProjectedSource[]; readonly defaultMode?: number };
  readonly [other: string]: unknown;
}

/** One demand on a label of the node, or on its name. */
export interface NodeRequirement {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt";
  readonly values?: readonly string[];
}

/** All of its demands must be met; one without any is met by no node. */
export interface NodeTerm {
  readonly matchExpressions?: readonly NodeRequirement[];
  /** Of fields there is only `metadata.name`. */
  readonly matchFields?: readonly NodeRequirement[];
}

/** Grace and deadline are in seconds; absent, the grace is 30 s and there is no deadline. */
export interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Volume[];
  readonly restartPolicy?: "Always" | "OnFailure" | "Never";
  readonly nodeName?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  /** What it demands of nodes; other kinds of affinity need several of them. */
  readonly affinity?: {
    readonly nodeAffinity?: {
      readonly requiredDuringSchedulingIgnoredDuringExecution?: { readonly nodeSelectorTerms?: readonly NodeTerm[] };
    };
  };
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken?: boolean;
  readonly hostname?: string;
  readonly subdomain?: string;
  readonly hostNetwork?: boolean;
  readonly shareProcessNamespace?: boolean;
  readonly hostAliases?: readonly { readonly ip: string; readonly hostnames?: readonly string[] }[];
  readonly imagePullSecrets?: readonly { readonly name?: string }[];
  readonly securityContext?: SecurityContext;
  readonly activeDeadlineSeconds?: number;
  readonly terminationGracePeriodSeconds?: number;
}

/** How an execution of a container ended. Times are RFC 3339 with whole seconds. */
export interface Terminated {
  /** 128 + the signal's number after a signal; 137 also for what was lost. */
  readonly exitCode: number;
  readonly signal?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly containerID?: string;
}

/** Exactly one of them; none means that it waits for a reason not known yet. */
export interface ContainerState {
  readonly waiting?: { readonly reason: string; readonly message?: string };
  readonly running?: { readonly startedAt: string };
  readonly terminated?: Terminated;
}

export interface ContainerStatus {
  readonly name: string;
  /** Of the newest execution. */
  readonly state: ContainerState;
  /** Of the execution before it. */
  readonly lastState: ContainerState;
  readonly ready: boolean;
  readonly started: boolean;
  readonly restartCount: number;
  readonly image: string;
  readonly imageID: string;
  readonly containerID?: string;
}

/** `Succeeded` and `Failed` are for ever. */
export type PodPhase = "Pending" | "Running" | "Succeeded" | "Failed";

export interface PodStatus {
  readonly phase?: PodPhase;
  readonly reason?: string;
  readonly message?: string;
  readonly conditions?: readonly Condition[];
  readonly containerStatuses?: readonly ContainerStatus[];
  readonly initContainerStatuses?: readonly ContainerStatus[];
  readonly startTime?: string;
  readonly hostIP?: string;
  readonly hostIPs?: readonly { readonly ip: string }[];
  readonly podIP?: string;
  readonly podIPs?: readonly { readonly ip: string }[];
  readonly qosClass?: string;
}

export interface PodObject extends KubeObject {
  readonly metadata: ObjectMeta;
  readonly spec: PodSpec;
  readonly status?: PodStatus;
}

/** A pod that will never run anything again. */
export const isFinished = (pod: { readonly status?: PodStatus }): boolean =>
  pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";

/** A failed pod with this condition would fail the same way every time: its runtime cannot do what it asks for. */
export const refusedCondition = "slipway.dev/Refused";
