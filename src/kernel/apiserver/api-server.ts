import { randomInt } from "node:crypto";
import type { ApiClient } from "#kernel/kit/index.ts";
import type { Clock, JsonObject, Logger } from "#lib/base/index.ts";
import { newUid } from "#lib/base/index.node.ts";
import { type Identity, internal } from "./authz/identity.ts";
import { Authenticator } from "./authz/tokens.ts";
import { EmbeddedClient } from "./embedded-client.ts";
import type { KindAdmission } from "./crds/admission.ts";
import { compileCelRule } from "./crds/cel-rules.ts";
import { createRegistry } from "./crds/registry.ts";
import { startCollectors } from "./gc/collectors.ts";
import { storeFirstObjects } from "./first-objects.ts";
import { servedDocuments } from "./discovery/served-documents.ts";
import type { HealthChecks } from "./http/health.ts";
import { InFlight } from "./http/in-flight.ts";
import { type Listener, type ListenOptions, openListener } from "./http/listener.ts";
import { RequestMetrics } from "./http/metrics.ts";
import type { FrontDoor } from "./http/request-handler.ts";
import { TurnCache } from "./http/turn-cache.ts";
import { rawGet, type RawSources } from "./raw-get.ts";
import type { ResourceRegistry } from "./kinds/served-resource.ts";
import { followDefinitions } from "./served-kinds.ts";
import type { Store } from "./store/store.ts";
import type { ApiContext } from "./verbs/context.ts";
import { defaultLimits, type Limits } from "./verbs/limits.ts";
import { noPodLogs, type PodLogs } from "./verbs/pod-log.ts";

export interface ApiServerOptions {
  /** Open and loaded; stays the caller's to close, after the server. */
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** Slipway's version, for `/version`. */
  readonly version: string;
  readonly podLogs?: PodLogs;
  readonly limits?: Partial<Limits>;
  /** PEM of the certificate authority, put into every namespace as ConfigMap `kube-root-ca.crt`; left out without it. */
  readonly rootCertificate?: string;
  /** Rules of custom kinds beyond their schemas. */
  readonly admissions?: readonly KindAdmission[];
  /** CustomResourceDefinitions known to be right, stored before anything is served, except those that are stored already. */
  readonly definitions?: readonly JsonObject[];
  /** More conditions of `/readyz` besides the store's. */
  readonly health?: HealthChecks;
  /** A number in [0, 1); the system's source of randomness when absent. */
  readonly random?: () => number;
}

/** A Kubernetes-compatible API server in this process. */
export interface ApiServer {
  /** A client that shares admission and the write path with HTTP. Acts as the server itself unless told. */
  client(identity?: Identity): ApiClient;
  /** Serves HTTPS. May be called for several addresses. */
  listen(options: ListenOptions): Promise<Listener>;
  /** The kinds served at this moment. */
  readonly registry: () => ResourceRegistry;
  /** True when no collector has anything to do. */
  readonly settled: boolean;
  /** Ends listeners, watches and collectors. The store stays open. */
  close(): Promise<void>;
}

/** Starts a server on a store: serves the stored kinds, makes the first namespaces and begins to collect. */
export async function createApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { store, clock, log, version } = options;
  const kinds = createRegistry({
    now: () => clock.now(),
    compileRule: compileCelRule,
    ...(options.admissions === undefined ? {} : { admissions: options.admissions }),
  });
  const following = followDefinitions(store, kinds, log);
  const context: ApiContext = {
    store,
    registry: () => kinds,
    onKindsChange: (listener) => kinds.onChange(listener),
    clock,
    log,
    limits: { ...defaultLimits, ...options.limits },
    newUid,
    random: options.random ?? randomUnit,
    podLogs: options.podLogs ?? noPodLogs,
  };
  const health: HealthChecks = { store: () => store.failure?.message, ...options.health };
  const sources = { context, documents: servedDocuments(), health, version };
  await storeFirstObjects(context, options.definitions ?? []);
  const collectors = await startCollectors(context, () => options.rootCertificate);
  const listeners = new Set<Listener>();
  return {
    client: (identity = internal) =>
      new EmbeddedClient(context, identity, (path, signal) => rawGet(sources, path, signal)),
    async listen(listenOptions) {
      const listener = await openListener((hostNames, closing) => openDoor(sources, hostNames, closing), listenOptions);
      listeners.add(listener);
      return listener;
    },
    registry: () => kinds,
    get settled() {
      return collectors.idle;
    },
    async close() {
      await Promise.all([...listeners].map((listener) => listener.close()));
      await collectors.close();
      following.close();
    },
  };
}

/** Uniform in [0, 1) from the system's source of randomness. */
const randomUnit = (): number => randomInt(2 ** 47) / 2 ** 47;

function openDoor(sources: RawSources, hostNames: readonly string[], closing: AbortSignal): FrontDoor {
  const { context, version } = sources;
  const { store, clock, limits } = context;
  const inFlight = new InFlight(limits);
  const watchMeter = { events: 0, dropped: 0 };
  const metrics = new RequestMetrics({
    inFlight,
    watchMeter,
    revision: () => store.revision,
    compactedRevision: () => store.compactedRevision,
    objects: () => store.collections().reduce((sum, collection) => sum + store.count(collection), 0),
    version,
  });
  const resources = { context, shared: new TurnCache(), watchMeter };
  const authenticator = new Authenticator(store, clock);
  return { ...sources, resources, authenticator, inFlight, metrics, hostNames, closing };
}
