import { formatMicroTime, formatTime, type Instant, type Millis, sleep } from "#lib/base/index.ts";
import { createOrUpdate, type Manager } from "#kernel/kit/index.ts";
import {
  type KubeObject,
  Lease,
  Namespace,
  Node as NodeType,
  type ObjectMeta,
  type Stored,
} from "#kernel/model/index.ts";
import type { Node } from "../pods/pod-fields.ts";

export interface MachineInfo {
  readonly version: string;
  readonly runtime: string;
  readonly runtimeVersion: string;
  readonly osImage: string;
  readonly kernelVersion: string;
  readonly operatingSystem: string;
  readonly architecture: string;
}

export interface NodeObject extends KubeObject {
  readonly metadata: ObjectMeta;
  readonly spec?: object;
  readonly status?: { readonly conditions?: readonly NodeCondition[] } & object;
}

/** The kit's conditions have no heartbeat. */
interface NodeCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastHeartbeatTime: string;
  readonly lastTransitionTime: string;
}

export interface NodeState {
  /** Why Pods cannot run; asked at every heartbeat. */
  readonly trouble: () => string | undefined;
  readonly conditions?: readonly {
    readonly type: string;
    readonly isTrue: boolean;
    readonly reason: string;
    readonly message: string;
  }[];
}

/**
 * Writes the Node of this machine when the manager starts, and keeps it current: a Lease as heartbeat, the condition
 * Ready from `trouble`. Labels, taints and conditions of others are kept. The Node is never deleted.
 */
export function addNode(manager: Manager, node: Node, info: MachineInfo, state: NodeState): void {
  manager.add({ name: "node", run: ({ stop }) => keepNode(manager, node, info, state, stop) });
}

type Conditions = NonNullable<NodeState["conditions"]>;

const readiness = (trouble: string | undefined): Conditions[number] => ({
  type: "Ready",
  isTrue: trouble === undefined,
  reason: trouble === undefined ? "KubeletReady" : "KubeletNotReady",
  message: trouble ?? "the Pod runner is running",
});

/** Like a kubelet: a Lease every ten seconds, the status every five minutes or when it changes. */
const beat: Millis = 10_000;
const longestSilence: Millis = 300_000;

async function keepNode(
  manager: Manager,
  node: Node,
  info: MachineInfo,
  { trouble, conditions = [] }: NodeState,
  stop: AbortSignal,
): Promise<void> {
  const { clock, log } = manager;
  let told: { readonly trouble: string | undefined; readonly at: Instant } | undefined;
  while (!stop.aborted) {
    try {
      // A command that ends within seconds needs no heartbeat.
      if (told !== undefined) await renewLease(manager, node, stop);
      const now = { trouble: trouble(), at: clock.now() };
      if (told === undefined || told.trouble !== now.trouble || now.at - told.at >= longestSilence) {
        await writeNode(manager, node, info, [readiness(now.trouble), ...conditions], stop);
        told = now;
      }
    } catch (error) {
      // Pods run without the Node object: the control plane must not end because of it.
      if (!stop.aborted) log.warn("the node could not be described", { node: node.name, error });
    }
    await sleep(clock, beat, stop).catch(() => undefined);
  }
}

/** Where `kubectl describe node` reads heartbeats. */
const leaseNamespace = "kube-node-lease";

async function renewLease({ client, clock }: Manager, { name }: Node, signal: AbortSignal): Promise<void> {
  const ref = { type: Lease, namespace: leaseNamespace, name };
  const beaten = (present: Stored<LeaseObject> | undefined): LeaseObject => ({
    ...(present ?? {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { namespace: leaseNamespace, name },
    }),
    spec: { ...present?.spec, holderIdentity: name, leaseDurationSeconds: 40, renewTime: formatMicroTime(clock.now()) },
  });
  const same = (present: KubeObject | undefined): KubeObject =>
    present ?? { apiVersion: "v1", kind: "Namespace", metadata: { name: leaseNamespace } };
  await createOrUpdate(client, { type: Namespace, name: leaseNamespace }, same, { clock, signal });
  await createOrUpdate<LeaseObject>(client, ref, beaten, { clock, signal });
}

interface LeaseObject extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly renewTime?: string;
  };
}

async function writeNode(
  { client, clock }: Manager,
  node: Node,
  info: MachineInfo,
  conditions: Conditions,
  signal: AbortSignal,
): Promise<void> {
  const ref = { type: NodeType, name: node.name };
  const change = (present: Stored<NodeObject> | undefined) => labelled(node, present);
  const { object } = await createOrUpdate<NodeObject>(client, ref, change, { clock, signal });
  await client.updateStatus<NodeObject>(NodeType, withStatus(object, node, info, conditions, clock.now()), { signal });
}

function labelled(node: Node, present: Stored<NodeObject> | undefined): NodeObject {
  const labels = { ...present?.metadata.labels, ...node.labels };
  if (present !== undefined) return { ...present, metadata: { ...present.metadata, labels } };
  return { apiVersion: "v1", kind: "Node", metadata: { name: node.name, labels }, spec: {} };
}

/** Bound to the version that was read, so that a condition written meanwhile is not lost. */
function withStatus(
  object: Stored<NodeObject>,
  node: Node,
  info: MachineInfo,
  own: Conditions,
  now: Instant,
): Stored<NodeObject> {
  // Not used for scheduling; 110 Pods is a kubelet's default.
  const amounts = { cpu: String(node.cpus), memory: `${Math.floor(node.memoryBytes / 1024)}Ki`, pods: "110" };
  const present = object.status?.conditions ?? [];
  const others = present.filter(({ type }) => !own.some((condition) => condition.type === type));
  const told = own.map(({ type, isTrue, reason, message }): NodeCondition => {
    const status = isTrue ? "True" : "False";
    const before = present.find((condition) => condition.type === type);
    return {
      type,
      status,
      reason,
      message,
      lastHeartbeatTime: formatTime(now),
      lastTransitionTime: before?.status === status ? before.lastTransitionTime : formatTime(now),
    };
  });
  const described = {
    ...object.status,
    addresses: [
      { type: "InternalIP", address: node.address },
      { type: "Hostname", address: node.name },
    ],
    allocatable: amounts,
    capacity: amounts,
    conditions: [...others, ...told],
    nodeInfo: nodeInfo(info),
  };
  return { ...object, status: described };
}

/** Kubernetes requires all of these; unknown values are empty. */
function nodeInfo({ version, runtime, runtimeVersion, ...system }: MachineInfo) {
  return {
    machineID: "",
    systemUUID: "",
    bootID: "",
    kubeProxyVersion: "",
    kubeletVersion: `v1.33.0+slipway.${version}`,
    containerRuntimeVersion: `${runtime}://${runtimeVersion}`,
    ...system,
  };
}
