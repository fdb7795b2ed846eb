import { loadDialects } from "#dialects/index.ts";
import { isJsonObject, type JsonObject, oneLine } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { isForbidden, Node, qualifiedResource } from "#kernel/model/index.ts";
import { heldUpAmong } from "./held-up-runs.ts";
import { formatTable } from "#kernel/command/index.node.ts";
import { viewOf } from "#app/runs/index.ts";
import { aboutServer, troublesOf } from "./server-state.ts";

interface Port {
  readonly serves: string;
  readonly address: string;
}

export interface ServerStatus {
  readonly ready: boolean;
  /** Version, url, directory, pid and runtime; empty for other servers. */
  readonly server: JsonObject;
  readonly ports: readonly Port[];
  /** The number of runs by kind and phase. */
  readonly runs: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Steps that wait for approval, as `kind/run step`. */
  readonly approvals: readonly string[];
  /** The number of agents by what they do. */
  readonly agents: Readonly<Record<"connected" | "disconnected", number>>;
  /** One sentence for each problem. */
  readonly degraded: readonly string[];
}

/** Reads all runs. Leaves out kinds that the caller may not list. */
export async function readStatus(client: ApiClient, signal: AbortSignal): Promise<ServerStatus> {
  const [troubles, about = {}, nodes, agents, { runs, approvals, heldUp }] = await Promise.all([
    troublesOf(client, signal),
    aboutServer(client),
    nodeConditions(client, signal),
    countAgents(client, signal),
    countRuns(client, signal),
  ]);
  const { listening, ports, ...server } = about;
  const doors = objectsIn(listening).flatMap(({ urls, from }) =>
    (Array.isArray(urls) ? urls : []).map((url) => ({
      serves: `Kubernetes API (${from === "other-machines" ? "all machines" : "this machine"})`,
      address: textOf(url),
    })),
  );
  const others = objectsIn(ports).map((port) => ({
    serves: textOf(port["serves"]),
    address: textOf(port["address"]),
    trouble: textOf(port["trouble"]),
  }));
  const open = others.filter(({ trouble }) => trouble === "").map(({ serves, address }) => ({ serves, address }));
  const closed = others.filter(({ trouble }) => trouble !== "").map(({ serves, trouble }) => `${serves}: ${trouble}`);
  return {
    ready: troubles.length === 0,
    server,
    ports: [...doors, ...open],
    runs,
    approvals,
    agents,
    degraded: [...troubles, ...closed, ...nodes, ...heldUp],
  };
}

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : typeof value === "number" ? `${value}` : "";

const objectsIn = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);

async function countRuns(client: ApiClient, signal: AbortSignal) {
  const types = await client.resourceTypes();
  const runs: Record<string, Record<string, number>> = {};
  const [approvals, heldUp]: [string[], string[]] = [[], []];
  for (const dialect of await loadDialects()) {
    for (const { group, kind } of dialect.runs.kinds) {
      const type = types.find((known) => known.group === group && known.kind === kind);
      const items = type === undefined ? [] : await unlessForbidden(client.list(type, { signal }));
      if (type === undefined || items.length === 0) continue;
      const phases: Record<string, number> = {};
      for (const item of items) {
        const { phase, steps } = viewOf(dialect, item);
        phases[phase] = (phases[phase] ?? 0) + 1;
        const asking = steps.filter(({ actions }) => actions.includes("approve"));
        approvals.push(...asking.map(({ id }) => `${kind.toLowerCase()}/${item.metadata.name} ${id}`));
      }
      runs[qualifiedResource(type)] = phases;
      heldUp.push(...(await heldUpAmong(client, dialect, items)));
    }
  }
  return { runs, approvals, heldUp };
}

async function countAgents(client: ApiClient, signal: AbortSignal): Promise<ServerStatus["agents"]> {
  const type = await client.resourceType("slipway.dev/v1alpha1", "Agent");
  const agents = type === undefined ? [] : await unlessForbidden(client.list(type, { signal }));
  const connected = agents.filter(({ status }) => isJsonObject(status) && status["connected"] === true).length;
  return { connected, disconnected: agents.length - connected };
}

/** The abnormal conditions of Nodes. The reason `Off` marks parts that the user has switched off. */
async function nodeConditions(client: ApiClient, signal: AbortSignal): Promise<readonly string[]> {
  const nodes = await unlessForbidden(client.list(Node, { signal }));
  return nodes.flatMap(({ metadata: { name }, status }) => {
    const conditions = objectsIn(isJsonObject(status) ? status["conditions"] : undefined);
    return conditions.flatMap(({ type, status: value, reason, message }) =>
      reason === "Off" || (type === "Ready") === (value === "True")
        ? []
        : [`node ${name}: ${textOf(type)}=${textOf(value)}: ${textOf(message)}`],
    );
  });
}

/** Empty if the caller may not list the kind. */
async function unlessForbidden<T>(list: Promise<{ readonly items: readonly T[] }>): Promise<readonly T[]> {
  try {
    return (await list).items;
  } catch (thrown) {
    if (isForbidden(thrown)) return [];
    throw thrown;
  }
}

/** Lines of text; JSON has all of them. */
const mostApprovals = 20;

function approvalLines(approvals: readonly string[]): string {
  const shown = approvals.slice(0, mostApprovals).map((line) => `  ${oneLine(line)}\n`);
  const more = approvals.length - shown.length;
  return `Waiting for approval:\n${shown.join("")}${more > 0 ? `  and ${more} more\n` : ""}`;
}

export function statusText({ ready, server, ports, runs, approvals, agents, degraded }: ServerStatus): string {
  const { version, url, directory, pid, runtime } = server;
  const title = url === undefined ? "The control plane" : `Slipway ${textOf(version)} at ${textOf(url)}`;
  const facts = Object.entries({ data: directory, process: pid, "steps run": runtime }).flatMap(([name, value]) =>
    value === undefined ? [] : [`  ${name.padEnd(12)}${textOf(value)}\n`],
  );
  const counts = Object.entries(runs).map(([kind, phases]) => [
    kind,
    Object.entries(phases)
      .map(([phase, count]) => `${count} ${phase}`)
      .join(", "),
  ]);
  const parts = [
    `${title} is ${ready ? "ready" : "not ready"}\n${facts.join("")}`,
    ...(ports.length === 0
      ? []
      : [
          formatTable(
            ["SERVES", "ADDRESS"],
            ports.map(({ serves, address }) => [serves, address]),
          ),
        ]),
    counts.length === 0 ? "No runs\n" : formatTable(["RUNS", "PHASES"], counts),
    ...(approvals.length === 0 ? [] : [approvalLines(approvals)]),
    ...(agents.connected + agents.disconnected === 0
      ? []
      : [`Agents: ${agents.connected} connected, ${agents.disconnected} disconnected\n`]),
    degraded.length === 0
      ? "Nothing is degraded\n"
      : `Degraded:\n${degraded.map((line) => `  ${oneLine(line)}\n`).join("")}`,
  ];
  return parts.join("\n");
}
