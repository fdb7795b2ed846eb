import type { Condition } from "#kernel/kit/index.ts";
import type { KubeObject, ObjectMeta } from "#kernel/model/index.ts";

// The parts of Kubernetes' Pod that the controllers of this folder read and write. Everything else is kept as it is.

export interface KeySelector {
  readonly name?: string;
  readonly key: string;
  readonly optional?: boolean;
}

export interface FieldSelector {
  readonly fieldPath: string;
}

export interface ResourceSelector {
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

export interface SecurityContext {
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly runAsNonRoot?: boolean;
  readonly [other: string]: unknown;
}

export interface Handler {
  readonly exec?: { readonly command?: readonly string[] };
  readonly [other: string]: unknown;
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
  readonly ports?: readonly { readonly hostPort?: number; readonly [other: string]: unknown }[];
  readonly resources?: {
    readonly limits?: Readonly<Record<string, string>>;
    readonly requests?: Readonly<Record<string, string>>;
  };
  readonly securityContext?: SecurityContext;
  readonly lifecycle?: { readonly preStop?: Handler; readonly postStart?: Handler };
  readonly livenessProbe?: unknown;
  readonly readinessProbe?: unknown;
  readonly startupProbe?: unknown;
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

export interface ProjectedSource {
  readonly configMap?: { readonly name?: string; readonly items?: readonly KeyToPath[]; readonly optional?: boolean };
  readonly secret?: { readonly name?: string; readonly items?: readonly KeyToPath[]; readonly optional?: boolean };
  readonly downwardAPI?: { readonly items?: readonly DownwardItem[] };
  readonly [other: string]: unknown;
}

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
  readonly projected?: { readonly sources?: readonly ProjectedSource[]; readonly defaultMode?: number };
  readonly [other: string]: unknown;
}

export interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Volume[];
  readonly restartPolicy?: "Always" | "OnFailure" | "Never";
  readonly nodeName?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly serviceAccountName?: string;
  readonly hostname?: string;
  readonly securityContext?: SecurityContext;
  readonly activeDeadlineSeconds?: number;
  readonly terminationGracePeriodSeconds?: number;
}

export interface Terminated {
  readonly exitCode: number;
  readonly signal?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly containerID?: string;
}

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

/** A pod that will never run anything again. */
export const isFinished = (pod: { readonly status?: PodStatus }): boolean =>
  pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";

/** A failed pod with this condition would fail the same way every time: its runtime cannot do what it asks for. */
export const refusedCondition = "slipway.dev/Refused";
