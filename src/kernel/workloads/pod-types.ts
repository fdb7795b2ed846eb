import { type Condition, isTrue } from "#kernel/kit/index.ts";
import type { KubeObject, ObjectMeta } from "#kernel/model/index.ts";

export interface KeySelector {
  readonly name?: string;
  readonly key: string;
  readonly optional?: boolean;
}

export interface FieldSelector {
  readonly fieldPath: string;
}

export interface ResourceSelector {
  /** Default: the container itself. */
  readonly containerName?: string;
  readonly resource: string;
  readonly divisor?: string;
}

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

/** Other members have no effect and are reported; see `supportFor`. */
export interface SecurityContext {
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly runAsNonRoot?: boolean;
  readonly sysctls?: readonly { readonly name: string; readonly value: string }[];
  readonly [other: string]: unknown;
}

export type PortReference = number | string;

export interface Handler {
  readonly exec?: { readonly command?: readonly string[] };
  readonly httpGet?: {
    readonly host?: string;
    readonly port: PortReference;
    readonly path?: string;
    /** HTTP or HTTPS; certificates are not verified. */
    readonly scheme?: string;
    readonly httpHeaders?: readonly { readonly name: string; readonly value: string }[];
  };
  readonly tcpSocket?: { readonly host?: string; readonly port: PortReference };
  readonly grpc?: { readonly port: number; readonly service?: string };
  readonly sleep?: { readonly seconds: number };
  readonly [other: string]: unknown;
}

/** In seconds, with the API server's defaults. */
export interface Probe extends Handler {
  readonly initialDelaySeconds?: number;
  readonly timeoutSeconds?: number;
  readonly periodSeconds?: number;
  readonly successThreshold?: number;
  readonly failureThreshold?: number;
  /** Replaces the pod's grace when this probe ends the container. */
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
  readonly path: string;
  readonly mode?: number;
}

export interface DownwardItem {
  readonly path: string;
  readonly fieldRef?: FieldSelector;
  readonly resourceFieldRef?: ResourceSelector;
  readonly mode?: number;
}

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

/** Exactly one source; others than these are refused by name. */
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

export interface NodeRequirement {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt";
  readonly values?: readonly string[];
}

/** All requirements must hold; a term without any matches no node. */
export interface NodeTerm {
  readonly matchExpressions?: readonly NodeRequirement[];
  readonly matchFields?: readonly NodeRequirement[];
}

/** In seconds; by default the grace is 30 s and there is no deadline. */
export interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Volume[];
  readonly restartPolicy?: "Always" | "OnFailure" | "Never";
  readonly nodeName?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
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

export interface Terminated {
  /** 128 + the signal's number after a signal; 137 also for a lost container. */
  readonly exitCode: number;
  readonly signal?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly containerID?: string;
}

/** At most one of them; without any the container waits for an unknown reason. */
export interface ContainerState {
  readonly waiting?: { readonly reason: string; readonly message?: string };
  readonly running?: { readonly startedAt: string };
  readonly terminated?: Terminated;
}

export interface ContainerStatus {
  readonly name: string;
  readonly state: ContainerState;
  readonly lastState: ContainerState;
  readonly ready: boolean;
  readonly started: boolean;
  readonly restartCount: number;
  readonly image: string;
  readonly imageID: string;
  readonly containerID?: string;
}

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

export const isFinished = (pod: { readonly status?: PodStatus }): boolean =>
  pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";

export const isTerminating = ({ metadata }: PodObject): boolean => metadata.deletionTimestamp !== undefined;

/** Neither ended nor being deleted. */
export const isActive = (pod: PodObject): boolean => !isFinished(pod) && !isTerminating(pod);
export const isReady = ({ status }: PodObject): boolean => isTrue(status?.conditions, "Ready");

export const allContainers = ({ containers, initContainers = [] }: PodSpec): readonly Container[] => [
  ...initContainers,
  ...containers,
];

export const allStatuses = (status: PodStatus | undefined): readonly ContainerStatus[] => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
];

/** A failed pod with this condition would fail in the same way every time: the runtime cannot do what it asks for. */
export const refusedCondition = "slipway.dev/Refused";
