import { systemRandom } from "#lib/base/index.node.ts";
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { loadDialects } from "#dialects/index.ts";
import { type Dialect, type DialectPort, type Shared, sharedOf } from "#kernel/dialect/index.ts";
import { type Clock, formatInstant, isJsonObject, type JsonValue, SlipwayError } from "#lib/base/index.ts";
import { type CrdDocument, type Kind, toCrds } from "#lib/schema/index.ts";
import {
  type ApiClient,
  asOurs,
  type Connection,
  createHttpClient,
  installCrds,
  leaseElection,
  type LeaseElectionOptions,
  Manager,
  type HttpClientConfig,
} from "#kernel/kit/index.ts";
import { isForbidden, isNotFound, type KubeObject, Node, type Writer } from "#kernel/model/index.ts";
import type { ClusterWork } from "#kernel/command/index.ts";
import type { AuditLog } from "#kernel/apiserver/index.ts";
import type { RpcPort } from "#kernel/rpc/index.ts";
import { dialectDirectory } from "./log-sources.ts";
import { onceReachable, onceStarted } from "./starting-cluster.ts";
import { type LogLevel, plainLog } from "./plain-log.ts";
import { keptPodStreams } from "./pod-streams.ts";
import { openTemplates } from "./templates.ts";

// On a cluster, Slipway adds definitions and controllers; the controllers are those of an embedded control plane.

export interface ClusterOptions extends Omit<ClusterWork, "leaseName"> {
  readonly connection: Connection;
  /** Only the holder of this lease acts; absent if any number of processes may. */
  readonly lease?: { readonly namespace: string; readonly name: string };
  /** Install or update the definitions first; otherwise they must exist. */
  readonly installsDefinitions: boolean;
  readonly notes: readonly string[];
  /** For files of dialects; absolute. */
  readonly directory: string;
  readonly clock: Clock;
  readonly version: string;
  readonly level: LogLevel;
  /** Readable log lines for a terminal, else JSON lines. */
  readonly isTerminal: boolean;
  readonly onPort: (port: DialectPort) => void;
  readonly signal: AbortSignal;
}

/** The definitions that a cluster must serve, of all or of these languages. */
export async function clusterDefinitions(languages: readonly string[] = []): Promise<readonly CrdDocument[]> {
  const { kinds } = await speakersOf(languages);
  return toCrds(kinds).map((definition) => asOurs(definition));
}

/** Runs controllers for a cluster until the signal. Rejects: `definitions-missing`, `own-controllers`, lost lease. */
export async function serveCluster(options: ClusterOptions): Promise<void> {
  const { connection, clock, version, signal, level } = options;
  const log = options.isTerminal ? plainLog(level, clock) : (await import("./log.ts")).serverLog(level);

  const config = { connection, clock, log, random: systemRandom, userAgent: `slipway/${version}` };
  const client = createHttpClient(config);
  const users = impersonators(config);
  const templates = openTemplates(clock);
  const ports: RpcPort[] = [];
  let audit: Promise<AuditLog> | undefined;
  const streams = keptPodStreams(() => ({ connection, clock, log, random: systemRandom }));
  try {
    const { kinds, dialects, shared } = await speakersOf(options.language === undefined ? [] : [options.language]);
    const patiently = <T>(ask: () => Promise<T>): Promise<T> => onceStarted(client, clock, signal, ask);
    await onceReachable(client, { clock, log, signal });
    const node = options.isForAny === true ? undefined : await nodeOfOwn(client, signal, clock);
    const isOwn = node !== undefined;
    if (isOwn && (options.besideOwn === undefined || !leavesWork(node, options.besideOwnIf?.condition)))
      throw ownControllers(options.besideOwnIf?.hint);
    const dialectOptions = (isOwn ? options.besideOwn : options.dialectOptions) ?? {};
    if (options.installsDefinitions)
      await patiently(() =>
        installCrds(client, toCrds(kinds).map(asOurs), { clock, log, random: systemRandom, signal }),
      );
    else {
      const looksAt = kinds.filter(({ plural }) => options.looksAt?.includes(plural) ?? true);
      await patiently(() => expectServed(client, looksAt, signal));
    }
    const parts = { client, clock, log, random: systemRandom };
    const { clientAs } = users;
    const manager = new Manager({ ...parts, clientAs, ...electionOf(isOwn ? undefined : options.lease, parts) });
    shared?.addControllers(manager);
    for (const dialect of dialects)
      await dialect.addControllers(manager, {
        version,
        templates,
        directory: dialectDirectory(options.directory, dialect),
        options: dialectOptions[dialect.name],
        notes: options.notes,
        async openPort(address) {
          const { RpcPort } = await import("#kernel/rpc/index.ts");
          const port = await RpcPort.open(address);
          ports.push(port);
          return port;
        },
        audit(entry) {
          const line = JSON.stringify({ time: formatInstant(clock.now()), ...entry });
          audit ??= import("#kernel/apiserver/index.ts").then(
            ({ AuditLog }) => new AuditLog({ directory: `${options.directory}/audit`, clock, log }),
          );
          void audit.then((open) => open.append(line));
        },
        podStreams: streams.open,
        tellPort: options.onPort,
        // The cluster's API serves no logs of ours.
        tellLogs: () => undefined,
        // There is no Node of ours with conditions.
        tellCondition: ({ isTrue, message, type }) => void (isTrue && log.warn(message, { condition: type })),
      });
    signal.throwIfAborted();
    await manager.run(signal);
  } finally {
    for (const port of ports) port.close();
    streams.close();
    await (await audit)?.close();
    await templates.close();
    await users.close();
    await client.close();
  }
}

interface Speakers {
  readonly dialects: readonly Dialect[];
  readonly kinds: readonly Kind[];
  /** Absent if only some languages are served: it runs once, for all of them. */
  readonly shared?: Shared;
}

/** No languages mean all. */
async function speakersOf(languages: readonly string[]): Promise<Speakers> {
  const all = await loadDialects();
  const shared = sharedOf(all);
  const dialects = languages.length === 0 ? all : all.filter(({ name }) => languages.includes(name));
  // Dialects may share kinds.
  const kinds = [...new Set([shared, ...dialects].flatMap((owner) => owner.kinds))];
  return { dialects, kinds, ...(languages.length === 0 ? { shared } : {}) };
}

function electionOf(
  lease: ClusterOptions["lease"],
  parts: Pick<LeaseElectionOptions, "client" | "clock" | "log" | "random">,
) {
  if (lease === undefined) return {};
  const identity = `${hostname()}_${process.pid}_${randomUUID()}`;
  return { election: leaseElection({ ...parts, ...lease, identity }) };
}

/** The Node of a control plane of `slipway up`. An account that may not list Nodes is on a cluster. */
async function nodeOfOwn(client: ApiClient, signal: AbortSignal, clock: Clock): Promise<KubeObject | undefined> {
  const ours = { labelSelector: "slipway.dev/runtime", limit: 1, signal };
  const { items } = await onceStarted(client, clock, signal, () => client.list(Node, ours)).catch((thrown: unknown) => {
    if (isForbidden(thrown)) return { items: [] };
    throw thrown;
  });
  return items[0];
}

function leavesWork({ status }: KubeObject, condition: string | undefined): boolean {
  const conditions = isJsonObject(status) ? status["conditions"] : undefined;
  const isTrue = (item: JsonValue): boolean =>
    isJsonObject(item) && item["type"] === condition && item["status"] === "True";
  return condition === undefined || (Array.isArray(conditions) && conditions.some(isTrue));
}

const ownControllers = (hint = "name a cluster with --kubeconfig FILE"): SlipwayError =>
  new SlipwayError("own-controllers", "this is a control plane of slipway up, which has controllers of its own", {
    hint,
  });

/** Lists like the mirrors will: a missing permission is reported now, by kind. */
async function expectServed(client: ApiClient, kinds: readonly Kind[], signal: AbortSignal): Promise<void> {
  const missing: string[] = [];
  for (const kind of kinds)
    await client.list(kind, { limit: 1, signal }).catch((thrown: unknown) => {
      if (!isNotFound(thrown)) throw thrown;
      missing.push(`${kind.plural}.${kind.version}.${kind.group}`);
    });
  if (missing.length === 0) return;
  throw new SlipwayError("definitions-missing", `the cluster does not serve ${missing.join(", ")}`, {
    hint: "install them with: slipway crds | kubectl apply --server-side -f -\nor let the controllers do it: --install-crds",
  });
}

/** Clients of users beyond this number are closed, the oldest first. */
const maxUsers = 256;

interface Impersonators {
  readonly clientAs: (user: Writer) => ApiClient;
  readonly close: () => Promise<void>;
}

/** Clients that impersonate users over a connection that may do so, one for each user. */
function impersonators(config: HttpClientConfig): Impersonators {
  const clients = new Map<string, ApiClient>();
  return {
    clientAs({ user, groups }) {
      const key = JSON.stringify([user, groups]);
      const known = clients.get(key);
      if (known !== undefined) return known;
      const client = createHttpClient({
        ...config,
        connection: { ...config.connection, impersonate: { user, groups } },
      });
      clients.set(key, client);
      const [oldest] = clients;
      if (clients.size > maxUsers && oldest !== undefined) {
        clients.delete(oldest[0]);
        void oldest[1].close();
      }
      return client;
    },
    close: async () => void (await Promise.all([...clients.values()].map((client) => client.close()))),
  };
}
