import { formatTime, type Instant } from "#lib/base/index.ts";
import { createOrUpdate, type Manager } from "#kernel/kit/index.ts";
import { type KubeObject, Node as NodeType, type ObjectMeta, type Stored } from "#kernel/model/index.ts";
import type { Node } from "../pods/pod-fields.ts";

/** What a machine says of its software. Texts for people; nothing here reads them. */
export interface MachineInfo {
  /** Slipway's version; shown as that of the kubelet. */
  readonly version: string;
  /** What runs containers: `process`, `docker`. */
  readonly runtime: string;
  readonly osImage: string;
  readonly kernelVersion: string;
  /** `linux`, `darwin`. */
  readonly operatingSystem: string;
  /** `amd64`, `arm64`: Go's words, which node selectors expect. */
  readonly architecture: string;
}

/** The parts of Kubernetes' Node that are written here. */
export interface NodeObject extends KubeObject {
  readonly metadata: ObjectMeta;
  readonly spec?: object;
  readonly status?: { readonly conditions?: readonly NodeCondition[] } & object;
}

/** As Kubernetes has it; the kit's own conditions know no heartbeat. */
interface NodeCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastHeartbeatTime: string;
  readonly lastTransitionTime: string;
}

/**
 * Has the manager write the Node of this machine when it starts: once, because nobody decides by its heartbeat. What others have written
 * on it stays: labels, taints, conditions of their own. It is never removed: a control plane that is stopped comes back.
 */
export function addNode(manager: Manager, node: Node, info: MachineInfo): void {
  const { log } = manager;
  manager.add({
    name: "node",
    async run({ stop }) {
      try {
        await writeNode(manager, node, info, stop);
      } catch (error) {
        // Pods run as well without it; a control plane must not end for a description of itself.
        if (!stop.aborted) log.warn("the node could not be described", { node: node.name, error });
      }
    },
  });
}

/** Two writes, because status has an endpoint of its own. At the same version as before they change nothing but the heartbeat. */
async function writeNode(
  { client, clock }: Manager,
  node: Node,
  info: MachineInfo,
  signal: AbortSignal,
): Promise<void> {
  const ref = { type: NodeType, name: node.name };
  const change = (present: Stored<NodeObject> | undefined) => described(node, present);
  const { object } = await createOrUpdate<NodeObject>(client, ref, change, { clock, signal });
  await client.updateStatus<NodeObject>(NodeType, withStatus(object, node, info, clock.now()), { signal });
}

/** What is written on the main endpoint: labels of this machine over whatever others have put there. */
function described(node: Node, present: Stored<NodeObject> | undefined): NodeObject {
  const labels = { ...present?.metadata.labels, ...node.labels };
  if (present !== undefined) return { ...present, metadata: { ...present.metadata, labels } };
  return { apiVersion: "v1", kind: "Node", metadata: { name: node.name, labels }, spec: {} };
}

/** Bound to the version that was read, so a condition that somebody writes meanwhile is not lost: this write fails instead. */
function withStatus(object: Stored<NodeObject>, node: Node, info: MachineInfo, now: Instant): Stored<NodeObject> {
  // Nobody plans by them: everything that is created runs. 110 Pods is what a kubelet says without being told.
  const amounts = { cpu: String(node.cpus), memory: `${Math.floor(node.memoryBytes / 1024)}Ki`, pods: "110" };
  const others = (object.status?.conditions ?? []).filter(({ type }) => type !== "Ready");
  const before = object.status?.conditions?.find(({ type }) => type === "Ready");
  const ready: NodeCondition = {
    type: "Ready",
    status: "True",
    reason: "KubeletReady",
    message: "the runner of Pods is at work",
    lastHeartbeatTime: formatTime(now),
    lastTransitionTime: before?.status === "True" ? before.lastTransitionTime : formatTime(now),
  };
  const status = {
    ...object.status,
    addresses: [
      { type: "InternalIP", address: node.address },
      { type: "Hostname", address: node.name },
    ],
    allocatable: amounts,
    capacity: amounts,
    conditions: [...others, ready],
    nodeInfo: nodeInfo(info),
  };
  return { ...object, status };
}

/** Kubernetes demands all of these; what this machine does not tell is empty. */
function nodeInfo({ version, runtime, ...system }: MachineInfo) {
  return {
    machineID: "",
    systemUUID: "",
    bootID: "",
    kubeProxyVersion: "",
    kubeletVersion: `v1.33.0+slipway.${version}`,
    containerRuntimeVersion: `${runtime}://${version}`,
    ...system,
  };
}
