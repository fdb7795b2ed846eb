import type { PodSessions } from "#kernel/runtimes/index.ts";
import { type ApiClient, Metrics } from "#kernel/kit/index.ts";
import { type KubeObject, writersOf } from "#kernel/model/index.ts";
import type { Clock, JsonObject, Logger } from "#lib/base/index.ts";
import { growingUids, systemRandom } from "#lib/base/index.node.ts";
import type { AuditLog } from "./audit/audit-log.ts";
import { type Identity, internal } from "./authz/identity.ts";
import { Authorizer } from "./authz/authorizer.ts";
import { credentialAdmission } from "./authz/credential.ts";
import { RoleAggregator } from "./authz/rbac/aggregator.ts";
import { Authenticator } from "./authz/tokens.ts";
import { EmbeddedClient } from "./embedded-client.ts";
import type { KindAdmission } from "./crds/admission.ts";
import { compileCelRule } from "./crds/cel-rules.ts";
import { createRegistry } from "./crds/registry.ts";
import { startCollectors } from "./gc/collectors.ts";
import { storeFirstObjects, storeFirstRoles } from "./first-objects.ts";
import { servedDocuments } from "./discovery/served-documents.ts";
import type { HealthChecks } from "./http/health.ts";
import { InFlight } from "./http/in-flight.ts";
import { LargeBodies } from "./http/large-bodies.ts";
import { type Listener, type ListenOptions, openListener } from "./http/listener.ts";
import { EventLoopLag } from "./http/event-loop-lag.ts";
import { addAuditMetrics, addServerMetrics, RequestMetrics } from "./http/metrics.ts";
import type { FrontDoor } from "./http/request-handler.ts";
import { OpenStreams } from "./http/open-streams.ts";
import { YamlReader } from "./http/yaml-reader.ts";
import { SlowReaders } from "./http/slow-readers.ts";
import { TurnCache } from "./http/turn-cache.ts";
import { rawGet, type RawSources } from "./raw-get.ts";
import type { ResourceRegistry } from "./kinds/served-resource.ts";
import { followDefinitions } from "./served-kinds.ts";
import { Sessions } from "./sessions/sessions.ts";
import type { Store } from "./store/store.ts";
import type { ArtifactSource } from "./verbs/artifact.ts";
import type { ApiContext } from "./verbs/context.ts";
import { defaultLimits, type Limits } from "./verbs/limits.ts";
import { noPodLogs, type PodLogs } from "./verbs/pod-log.ts";
import { noPodSessions } from "./verbs/pod-sessions.ts";
import type { LogSource } from "./verbs/run-log.ts";
import { Turns } from "./verbs/turns.ts";
import { requestToken } from "./verbs/token-request.ts";

/** What a server is made of. It reads nothing else of the world: no files, no environment, no clock of its own. */
export interface ApiServerOptions {
  /** Open and loaded; stays the caller's to close, after the server. */
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** Slipway's version, for `/version`. */
  readonly version: string;
  /** Where logs of Pods come from; refused as not implemented without it. */
  readonly podLogs?: PodLogs;
  /** Where streams into Pods lead; refused as not implemented without it. */
  readonly podSessions?: PodSessions;
  /** Where logs of objects come from that are no Pods. */
  readonly logSources?: readonly LogSource[];
  /** Where artifacts come from; no kind has any without it. */
  readonly artifacts?: ArtifactSource;
  /** Those left out are the defaults. */
  readonly limits?: Partial<Limits>;
  /** PEM of the certificate authority, put into every namespace as ConfigMap `kube-root-ca.crt`; left out without it. */
  readonly rootCertificate?: string;
  /** PEM of the private key that signs tokens of ServiceAccounts; without it they are good until this process ends. */
  readonly accountKey?: string;
  /** Pods find a token of their account among their files unless they say otherwise: for those that can show them. */
  readonly mountsAccountTokens?: boolean;
  /** Rules of custom kinds beyond their schemas: a kind of ours says what a schema cannot. */
  readonly admissions?: readonly KindAdmission[];
  /** CustomResourceDefinitions known to be right, stored before anything is served, except those that are stored already. */
  readonly definitions?: readonly JsonObject[];
  /** What `/slipway/status` answers: where the server listens and keeps its data. */
  readonly about?: () => JsonObject;
  /** More conditions of `/readyz` besides the store's. */
  readonly health?: HealthChecks;
  /** What `/metrics` shows besides the server's own, which are added to it; only the server's own when absent. */
  readonly metrics?: Metrics;
  /** Where requests over HTTP are written down; stays the caller's to close, after the server. Nowhere when absent. */
  readonly audit?: AuditLog;
  /** The program that reads large YAML bodies in a thread of its own; they are read in this one without it. */
  readonly yamlReaderPath?: string;
  /** Members of `slipway:viewers` read no logs; they do when absent. */
  readonly hideLogsFromViewers?: boolean;
  /** A number in [0, 1); the system's source of randomness when absent. */
  readonly random?: () => number;
}

/**
 * A Kubernetes-compatible API server in this process: the rules of 1.33. Clients of both kinds see the same objects, refusals and order
 * of events; what HTTP adds is listening, credentials, limits and forms.
 */
export interface ApiServer {
  /** A client that shares admission and the write path with HTTP. Acts as the server itself unless told. */
  client(identity?: Identity): ApiClient;
  /** A client with the rights that everybody has who wrote a part of the object; undefined where those are administrators. */
  clientFor(object: KubeObject): ApiClient | undefined;
  /** What POST to `serviceaccounts/<name>/token` answers; throws its refusals. */
  accountToken(target: { readonly namespace: string; readonly name: string }, request: JsonObject): JsonObject;
  /** Serves HTTPS. May be called for several addresses; limits and metrics are those of all together. */
  listen(options: ListenOptions): Promise<Listener>;
  /** The kinds served at this moment: built-in ones, and those of stored definitions. */
  readonly registry: () => ResourceRegistry;
  /** True when no collector has anything to do. For tests and orderly ends; a moment later it may be false. */
  readonly settled: boolean;
  /** Ends listeners, watches and collectors, in this order. What is under way is answered. The store stays open. */
  close(): Promise<void>;
}

/**
 * Starts a server on a store: serves the stored kinds, makes the first namespaces and begins to collect. It does not listen yet. Kinds are
 * followed before anything is stored, so a definition that is stored here is served when this resolves.
 */
export async function createApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { store, clock, log, version } = options;
  const kinds = createRegistry({
    now: () => clock.now(),
    compileRule: compileCelRule,
    admissions: [credentialAdmission, ...(options.admissions ?? [])],
  });
  // From here on the registry is that of the store.
  const following = followDefinitions(store, kinds, log);
  const authenticator = new Authenticator(store, clock, options.accountKey);
  const context: ApiContext = {
    store,
    registry: () => kinds,
    onKindsChange: (listener) => kinds.onChange(listener),
    clock,
    log,
    limits: { ...defaultLimits, ...options.limits },
    turns: new Turns(clock),
    newUid: growingUids(clock),
    random: options.random ?? systemRandom,
    podLogs: options.podLogs ?? noPodLogs,
    podSessions: options.podSessions ?? noPodSessions,
    ...(options.logSources === undefined ? {} : { logSources: options.logSources }),
    ...(options.artifacts === undefined ? {} : { artifacts: options.artifacts }),
    authorizer: new Authorizer(store, { hideLogsFromViewers: options.hideLogsFromViewers === true }),
    tokens: authenticator,
    ...(options.mountsAccountTokens === undefined ? {} : { mountsAccountTokens: options.mountsAccountTokens }),
  };
  const health: HealthChecks = {
    store: () => store.failure?.message,
    discovery: () => (kinds.all().length === 0 ? "no kind is served" : undefined),
    ...options.health,
  };
  const sources = { context, documents: servedDocuments(), health, version };
  await storeFirstObjects(context, options.definitions ?? []);
  const collectors = await startCollectors(context, () => options.rootCertificate);
  const listeners = new Set<Listener>();
  let aggregator: Promise<RoleAggregator> | undefined;
  const lag = new EventLoopLag();
  const { audit } = options;
  const metrics = options.metrics ?? new Metrics();
  const yaml = new YamlReader({ program: options.yamlReaderPath, clock, limits: context.limits });
  const { about } = options;
  const front = {
    ...frontOf(sources, authenticator, metrics, lag),
    yaml,
    about,
    ...(audit === undefined ? {} : { audit }),
  };
  if (audit !== undefined) addAuditMetrics(metrics, audit);
  const clientOf = (...identities: readonly [Identity, ...Identity[]]) =>
    new EmbeddedClient(context, identities, (path, signal, accept) => rawGet(sources, path, signal, accept));
  return {
    client: (identity = internal) => clientOf(identity),
    clientFor(object) {
      const [writer, ...others] = writersOf(object);
      return writer === undefined ? undefined : clientOf(writer, ...others);
    },
    accountToken: (target, request) => requestToken(context, authenticator.accounts, target, request),
    async listen(listenOptions) {
      aggregator ??= startRoles(context);
      await aggregator;
      const listener = await openListener((hostNames, closing) => ({ ...front, hostNames, closing }), listenOptions);
      listeners.add(listener);
      return listener;
    },
    registry: () => kinds,
    get settled() {
      return collectors.idle;
    },
    async close() {
      await Promise.all([...listeners].map((listener) => listener.close()));
      yaml.close();
      lag.close();
      await collectors.close();
      await (await aggregator)?.close();
      context.authorizer.close();
      following.close();
    },
  };
}

/** The first roles, and from then on the rules of aggregated ones. */
async function startRoles(context: ApiContext): Promise<RoleAggregator> {
  await storeFirstRoles(context);
  return new RoleAggregator(context);
}

/** What all listeners share: limits and counts are those of the server, whatever address a request came by. */
function frontOf(
  sources: RawSources,
  authenticator: Authenticator,
  metrics: Metrics,
  lag: EventLoopLag,
): Omit<FrontDoor, "hostNames" | "closing" | "yaml" | "about"> {
  const { context, version } = sources;
  const { store, limits } = context;
  const inFlight = new InFlight(limits);
  const watchMeter = { open: 0, events: 0, dropped: 0 };
  const readers = new SlowReaders(context.clock);
  addServerMetrics(metrics, { inFlight, watchMeter, readers, store, lag, version });
  return {
    ...sources,
    resources: { context, shared: new TurnCache(), watchMeter, accounts: authenticator.accounts },
    authenticator,
    inFlight,
    readers,
    bodies: new LargeBodies(limits, context.clock, context.turns),
    sessions: new Sessions(context.clock),
    streams: new OpenStreams(context.clock),
    requests: new RequestMetrics(metrics),
    metrics,
  };
}
