import { isJsonObject, type JsonObject, type JsonValue, recover } from "#lib/base/index.ts";
import { type LeftRecord, readLeft } from "#kernel/artifacts/index.ts";
import { type ApiClient, getOrUndefined } from "#kernel/kit/index.ts";
import {
  asJson,
  isForbidden,
  keptOutputLabel,
  type KubeObject,
  lostReason,
  Node,
  Pod,
  type Stored,
} from "#kernel/model/index.ts";

export interface ContainerEnd {
  readonly exitCode: number;
  readonly message: string;
  /** Unknown result, because its runtime was killed. */
  readonly isLost?: true;
  readonly node?: string;
  /** Artifacts of the Pod, if stored. */
  readonly left?: LeftRecord;
}

/** Exit of the Pod that succeeded (index 0 of several) or failed last. One list request. */
export async function containerEnd(
  client: ApiClient,
  namespace: string | undefined,
  labels: Readonly<Record<string, string>>,
  outcome: "succeeded" | "failed",
  signal: AbortSignal,
): Promise<ContainerEnd | undefined> {
  const items = await podsOf(client, namespace, labels, signal);
  const pods = [...items].sort((a, b) => orderOf(a) - orderOf(b) || compareAges(a, b));
  const ends = pods.flatMap((pod) => endOf(pod) ?? []);
  return outcome === "succeeded" ? ends.find((end) => end.exitCode === 0) : ends.findLast((end) => end.exitCode !== 0);
}

async function podsOf(
  client: ApiClient,
  namespace: string | undefined,
  labels: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<readonly Stored[]> {
  const labelSelector = Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
  const scope = namespace === undefined ? {} : { namespace };
  return (await client.list(Pod, { ...scope, labelSelector, signal })).items;
}

export interface Lack {
  readonly reason: string;
  readonly message: string;
}

/** Missing artifacts of an attempt's Pods; undefined for other failures. One list request. */
export async function podLack(
  client: ApiClient,
  namespace: string | undefined,
  labels: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Lack | undefined> {
  for (const pod of await podsOf(client, namespace, labels, signal)) {
    const { phase, reason, message } = at(asJson(pod), "status") ?? {};
    if (phase === "Failed" && typeof reason === "string" && reason.startsWith("Artifact"))
      return { reason, message: typeof message === "string" ? message : "" };
  }
  return undefined;
}

/** Limit of outputs on its Node, if known. One request. */
export async function keptOutputBytes(
  client: ApiClient,
  end: ContainerEnd | undefined,
  signal: AbortSignal,
): Promise<number | undefined> {
  if (end?.node === undefined) return undefined;
  // Without access to Nodes this is a cluster.
  const node = await getOrUndefined(client, { type: Node, name: end.node }, signal).catch(
    recover(isForbidden, undefined),
  );
  const bytes = Number(node?.metadata.labels?.[keptOutputLabel]);
  return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : undefined;
}

const completionIndex = "batch.kubernetes.io/job-completion-index";
/** By completion index; Pods without one are equal. */
const orderOf = ({ metadata }: Stored): number =>
  Number(metadata.annotations?.[completionIndex] ?? metadata.labels?.[completionIndex] ?? 0);
const compareAges = (a: Stored, b: Stored): number =>
  a.metadata.creationTimestamp < b.metadata.creationTimestamp ? -1 : 1;

/** The container named main, else the first that failed, else the first. Undefined if none has ended. */
function endOf(pod: KubeObject): ContainerEnd | undefined {
  const status = asJson(pod)["status"];
  const statuses = isJsonObject(status) ? listOf(status["containerStatuses"]) : [];
  const ends = statuses.flatMap((container) => {
    const terminated = at(container, "state", "terminated");
    const { exitCode, message, reason } = terminated ?? {};
    if (typeof exitCode !== "number") return [];
    const said = typeof message === "string" ? message : "";
    const lost = reason === lostReason ? ({ isLost: true } as const) : {};
    return [{ name: container["name"], end: { exitCode, message: said, ...lost } }];
  });
  const { end } =
    ends.find(({ name }) => name === "main") ?? ends.find((one) => one.end.exitCode !== 0) ?? ends[0] ?? {};
  if (end === undefined) return undefined;
  const { annotations, uid = "" } = pod.metadata;
  const left = readLeft(annotations, uid);
  const { nodeName } = at(asJson(pod), "spec") ?? {};
  const place = typeof nodeName === "string" ? { node: nodeName } : {};
  return { ...end, ...place, ...(left === undefined ? {} : { left }) };
}

const listOf = (value: JsonValue | undefined): readonly JsonObject[] => {
  const list: readonly JsonValue[] = Array.isArray(value) ? value : [];
  return list.filter(isJsonObject);
};

function at(object: JsonObject, ...path: readonly string[]): JsonObject | undefined {
  let value: JsonObject | undefined = object;
  for (const name of path) {
    const next: JsonValue | undefined = value?.[name];
    value = isJsonObject(next) ? next : undefined;
  }
  return value;
}
