import type { PodSessions } from "#kernel/runtimes/index.ts";
import { type ApiClient, Metrics } from "#kernel/kit/index.ts";
import { type KubeObject, writersOf, CustomResourceDefinition, Namespace } from "#kernel/model/index.ts";
import type { Clock, Instant, JsonObject, Logger } from "#lib/base/index.ts";
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
import { servedDocuments } from "./discovery/served-documents.ts";
import type { HealthChecks } from "./http/health.ts";
import { InFlight } from "./http/in-flight.ts";
import { LargeBodies } from "./http/large-bodies.ts";
import { type Listener, type ListenOptions, openListener } from "./http/listener.ts";
import { EventLoopLag } from "./http/event-loop-lag.ts";
import { addAuditMetrics, addServerMetrics, RequestMetrics } from "./http/metrics.ts";
import type { FrontDoor } from "./http/request-handler.ts";
import type { Pages } from "./http/pages.ts";
import { OpenStreams } from "./http/open-streams.ts";
import { YamlReader } from "./http/yaml-reader.ts";
import { SlowReaders } from "./http/slow-readers.ts";
import { TurnCache } from "./http/chunk.ts";
import { rawGet, type RawSources } from "./raw-get.ts";
import type { ResourceRegistry } from "./kinds/served-resource.ts";
import { followDefinitions } from "./served-kinds.ts";
import { Sessions } from "./sessions/sessions.ts";
import type { Store } from "./store/store.ts";
import { type ArtifactSource, noPodLogs, noPodSessions, type PodLogs, type LogSource } from "./verbs/sources.ts";
import type { ApiContext } from "./verbs/context.ts";
import { defaultLimits, type Limits } from "./verbs/limits.ts";
import { Turns } from "./verbs/turns.ts";
import { requestToken } from "./verbs/token-request.ts";
import { mapMember } from "#kernel/specs/index.ts";
import { bootstrapPolicy, ownGroup } from "./authz/rbac/bootstrap.ts";
import { withSpecDefaults } from "./crds/crd-kind.ts";
import { addDefaultAccount, addObject } from "./verbs/add-object.ts";
import { initialNamespaces } from "./verbs/namespace-rules.ts";

export interface ApiServerOptions {
  /** Open and loaded; the caller closes it after the server. */
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly version: string;
  /** Logs of Pods; not implemented by default. */
  readonly podLogs?: PodLogs;
  /** Streams into Pods; not implemented by default. */
  readonly podSessions?: PodSessions;
  readonly logSources?: readonly LogSource[];
  readonly artifacts?: ArtifactSource;
  readonly limits?: Partial<Limits>;
  /** PEM of the certificate authority, for the ConfigMap `kube-root-ca.crt` in every namespace. */
  readonly rootCertificate?: string;
  /** PEM of the key that signs ServiceAccount tokens; by default a temporary one. */
  readonly accountKey?: string;
  /** Mount account tokens into Pods by default. */
  readonly mountsAccountTokens?: boolean;
  /** Rules of custom kinds beyond their schemas. */
  readonly admissions?: readonly KindAdmission[];
  /** Valid CustomResourceDefinitions to store before serving, unless present. */
  readonly definitions?: readonly JsonObject[];
  /** Answers `/slipway/status`. */
  readonly about?: () => JsonObject;
  /** Answers what is below `/slipway/` besides sessions; 404 by default. */
  readonly pages?: Pages;
  /** Further conditions of `/readyz`. */
  readonly health?: HealthChecks;
  /** The server's own metrics are added to these. */
  readonly metrics?: Metrics;
  readonly audit?: AuditLog;
  /** Program of the thread that reads large YAML bodies; by default they are read here. */
  readonly yamlReaderPath?: string;
  /** Members of `slipway:viewers` may not read logs. */
  readonly hideLogsFromViewers?: boolean;
  /** In [0, 1); the system's randomness by default. */
  readonly random?: () => number;
}

/** A Kubernetes-compatible API server (the rules of 1.33) in this process. All clients see the same objects. */
export interface ApiServer {
  /** A client with the same admission and write path as HTTP; acts as the server itself by default. */
  client(identity?: Identity): ApiClient;
  /** A client with the rights that all writers of the object have; undefined if they are administrators. */
  clientFor(object: KubeObject): ApiClient | undefined;
  /** What POST `serviceaccounts/<name>/token` answers; throws its refusals. */
  accountToken(target: { readonly namespace: string; readonly name: string }, request: JsonObject): JsonObject;
  /** A code that logs a browser in as this identity: once, within five minutes. */
  issueCode(identity: Identity): { readonly code: string; readonly until: Instant };
  /** Serves HTTPS. Several listeners share limits and metrics. */
  listen(options: ListenOptions): Promise<Listener>;
  readonly registry: () => ResourceRegistry;
  /** True when no collector has work, at this moment. For tests and clean stops. */
  readonly settled: boolean;
  /** Stops listeners, watches and collectors, in this order. Requests under way are answered. The store stays open. */
  close(): Promise<void>;
}

/** Starts a server without a listener. The definitions stored here are served when this resolves. */
export async function createApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { store, clock, log, version } = options;
  const kinds = createRegistry({
    now: () => clock.now(),
    compileRule: compileCelRule,
    admissions: [credentialAdmission, ...(options.admissions ?? [])],
  });
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
  const clientOf = (...identities: readonly [Identity, ...Identity[]]) =>
    new EmbeddedClient(context, identities, (path, signal, accept) => rawGet(sources, path, signal, accept));
  const front = {
    ...frontOf(sources, authenticator, metrics, lag),
    yaml,
    about,
    clientOf: (identity: Identity) => clientOf(identity),
    ...(options.pages === undefined ? {} : { pages: options.pages }),
    ...(audit === undefined ? {} : { audit }),
  };
  if (audit !== undefined) addAuditMetrics(metrics, audit);
  return {
    client: (identity = internal) => clientOf(identity),
    clientFor(object) {
      const [writer, ...others] = writersOf(object);
      return writer === undefined ? undefined : clientOf(writer, ...others);
    },
    accountToken: (target, request) => requestToken(context, authenticator.accounts, target, request),
    issueCode: (identity) => front.sessions.issueCode(() => identity),
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
      options.pages?.close();
      yaml.close();
      lag.close();
      await collectors.close();
      await (await aggregator)?.close();
      context.authorizer.close();
      following.close();
    },
  };
}

async function startRoles(context: ApiContext): Promise<RoleAggregator> {
  await storeFirstRoles(context);
  return new RoleAggregator(context);
}

function frontOf(
  sources: RawSources,
  authenticator: Authenticator,
  metrics: Metrics,
  lag: EventLoopLag,
): Omit<FrontDoor, "hostNames" | "closing" | "yaml" | "about" | "clientOf"> {
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

/** Stores what is missing in one transaction without checks. Definitions come first, a namespace before its account. */
async function storeFirstObjects(context: ApiContext, definitions: readonly JsonObject[]): Promise<void> {
  await context.store.write((transaction) => {
    for (const definition of definitions)
      addObject(context, transaction, CustomResourceDefinition, mapMember(definition, "spec", withSpecDefaults));
    for (const name of initialNamespaces) {
      const metadata = { name, labels: { "kubernetes.io/metadata.name": name } };
      if (addObject(context, transaction, Namespace, { metadata })) addDefaultAccount(context, transaction, name);
    }
  });
}

/** Stores the missing initial roles and bindings, before the first listener opens. */
async function storeFirstRoles(context: ApiContext): Promise<void> {
  const served = context.registry().all();
  const ownKinds = served.flatMap(({ type }) => (type.group === ownGroup && type.namespaced ? [type.plural] : []));
  await context.store.write((transaction) => {
    for (const { type, object } of bootstrapPolicy([...new Set(ownKinds)]))
      addObject(context, transaction, type, object);
  });
}
