import { systemRandom } from "#lib/base/index.node.ts";
import { arch, cpus, hostname, platform, release, totalmem, type } from "node:os";
import { loadDialects } from "#dialects/index.ts";
import {
  type Admission,
  type ControllerParts,
  type Dialect,
  type DialectOptions,
  type DialectPort,
  type ReviewParts,
  sharedOf,
  type LogOpener,
  type ServerCondition,
  type Shared,
} from "#kernel/dialect/index.ts";
import {
  type Clock,
  formatInstant,
  type JsonObject,
  type Logger,
  parseInstant,
  toError,
  objectAt,
} from "#lib/base/index.ts";
import { type CrdDocument, toCrds } from "#lib/schema/index.ts";
import {
  type ApiServer,
  type AuditLog,
  createApiServer,
  Credential,
  type KindAdmission,
  preferringStored,
  type Store,
} from "#kernel/apiserver/index.ts";
import { type ArtifactLimits, ArtifactStore, carriesLabel } from "#kernel/artifacts/index.ts";
import { asOurs, type Connection, installCrds, Manager, Metrics } from "#kernel/kit/index.ts";
import { ApiError, keptOutputLabel, type KubeObject, Pod, type Writer } from "#kernel/model/index.ts";
import { scalarText } from "#kernel/specs/index.ts";
import { createProcessRuntime, keptLastWord, type Runtime, type PodSessions } from "#kernel/runtimes/index.ts";
import {
  addClaimController,
  addCronJobController,
  addDeploymentController,
  addJobController,
  addNode,
  addPodRunner,
  addReplicaSetController,
  addServiceProxy,
  addStatefulSetController,
  createPodLogs,
  type IssueToken,
  type Node,
  type ServerPlace,
} from "#kernel/workloads/index.ts";
import type { RpcPort } from "#kernel/rpc/index.ts";
import { type ModuleFiles, TemplateHost } from "#kernel/template/index.ts";
import { addArtifactSweeper } from "./artifact-sweeper.ts";
import { dialectDirectory, logSourcesOf } from "./log-sources.ts";
import { type KeptPodStreams, keptPodStreams } from "./pod-streams.ts";
import { lazyPages } from "./pages.ts";
import { templateFiles, uiDirectory } from "./program-paths.ts";

/** What every control plane is made of, ephemeral or kept. */
export interface ControlPlaneOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly version: string;
  /** Where Pods keep their volumes, logs and the runner's journal. */
  readonly directory: string;
  readonly runnerPath: string;
  /** The program that reads large YAML bodies; see `ApiServerOptions`. */
  readonly yamlReaderPath?: string;
  /** The parts of the template module; those beside this program when absent. */
  readonly templateFiles?: ModuleFiles;
  readonly notes?: readonly string[];
  readonly dialectOptions?: DialectOptions;
  /** Where steps run, closed with the control plane; default: host processes. */
  readonly runtime?: Runtime;
  /** Default: the Pod's own directory. */
  readonly workingDirectory?: string;
  /** For host processes, before the Pod's variables: PATH, HOME and the like. Never our whole environment. */
  readonly environment: Readonly<Record<string, string>>;
  readonly rootCertificate?: string;
  /** How this server reaches itself over HTTPS once it listens. */
  readonly connection?: () => Connection;
  /** Signs tokens of ServiceAccounts (PEM); without it, tokens end with this process. */
  readonly accountKey?: string;
  /** Where containers reach this server over HTTPS; see `PodRunnerOptions`. Such containers get tokens. */
  readonly serverFor?: (bridge: string | undefined) => Promise<ServerPlace | undefined>;
  /** The audit log of HTTP requests; closed by the caller. */
  readonly audit?: AuditLog;
  readonly hideLogsFromViewers?: boolean;
  /** The answer of `/slipway/status`; `ports` are those that dialects have opened. */
  readonly about?: (ports: readonly DialectPort[]) => JsonObject;
  readonly allowPrivileged?: boolean;
  readonly artifactLimits?: ArtifactLimits;
  readonly maxEvents?: number;
  /** Shown at `/metrics`; server and controllers count in it, too. */
  readonly metrics?: Metrics;
  /** The store is new: it starts with this version's definitions. */
  readonly isFresh?: boolean;
  /** Called when the server exists, before anything else runs; a taken port then ends the start early. */
  readonly onServer?: (server: ApiServer) => Promise<void>;
  /** Ends the start; no effect once it has resolved. */
  readonly signal: AbortSignal;
}

export interface ControlPlane {
  readonly server: ApiServer;
  readonly ports: readonly DialectPort[];
  /** Rejects when a controller fails for good; resolves after `close`. */
  readonly ended: Promise<void>;
  /** Stops controllers, then the server. Running steps continue unless `stopTasks` is given. */
  close(options?: { readonly stopTasks?: number }): Promise<void>;
}

/** Starts server, kinds and controllers. Nothing is left running when it rejects. */
export async function startControlPlane(given: ControlPlaneOptions): Promise<ControlPlane> {
  const options = { ...given, metrics: given.metrics ?? new Metrics() };
  const { log } = options;
  const runtime = options.runtime ?? hostRuntime(options);
  const { directory, clock, artifactLimits: limits } = options;
  const artifacts = new ArtifactStore({
    directory: `${directory}/artifacts`,
    clock,
    ...(limits === undefined ? {} : { limits }),
  });
  const templates = new TemplateHost({ ...(options.templateFiles ?? templateFiles), clock });
  options.metrics.readCounter(
    "slipway_template_threads_replaced_total",
    "Threads of templates that were replaced.",
    () => Object.entries(templates.replaced).map(([reason, value]) => ({ labels: { reason }, value })),
  );
  const words: Words = { opened: [], ports: [], conditions: [], logs: new Map(), sessions: undefined };
  const dialects = await loadDialects();
  const { connection } = options;

  const streams = connection && keptPodStreams(() => ({ connection: connection(), clock, log, random: systemRandom }));
  const parts: Parts = { dialects, shared: sharedOf(dialects), runtime, artifacts, templates, streams, words };
  let manager: Manager | undefined;
  const controllers = () => (manager?.phase === "running" ? undefined : `controllers are ${manager?.phase ?? "new"}`);
  const server = await startServer(options, parts, controllers);
  const stop = new AbortController();
  try {
    await options.onServer?.(server);
    options.signal.throwIfAborted();
    manager = await makeManager(options, parts, server);
    options.signal.throwIfAborted();
    const ended = manager.run(stop.signal);
    ended.catch((thrown: unknown) => log.error("controllers have failed", { error: toError(thrown) }));
    return {
      server,
      ports: words.ports,
      ended,
      close: (closing = {}) => closeAll(stop, ended, parts, server, closing),
    };
  } catch (thrown) {
    await closeAll(stop, Promise.resolve(), parts, server, {});
    throw thrown;
  }
}

const hostRuntime = ({ directory, runnerPath, clock, log }: ControlPlaneOptions): Runtime =>
  createProcessRuntime({ directory: `${directory}/runner`, runnerPath, nodePath: process.execPath, clock, log });

type Closing = NonNullable<Parameters<ControlPlane["close"]>[0]>;

/** Controllers and runtime stop before the server they talk to. Steps continue unless `stopTasks` is given. */
async function closeAll(
  stop: AbortController,
  ended: Promise<void>,
  { runtime, templates, streams, words }: Parts,
  server: ApiServer,
  closing: Closing,
): Promise<void> {
  stop.abort(new Error("the control plane stops"));
  await ended.catch(() => undefined); // Logged already, and told by `ended`.
  for (const port of words.opened) port.close();
  streams?.close();
  await templates.close();
  await runtime.close(closing);
  await server.close();
}

interface Parts {
  readonly dialects: readonly Dialect[];
  readonly shared: Shared;
  readonly runtime: Runtime;
  readonly artifacts: ArtifactStore;
  readonly templates: TemplateHost;
  readonly streams: KeptPodStreams | undefined;
  readonly words: Words;
}

/** What dialects and the pod runner report while they start. */
interface Words {
  readonly opened: RpcPort[];
  readonly ports: DialectPort[];
  readonly conditions: ServerCondition[];
  readonly logs: Map<string, LogOpener>;
  sessions: PodSessions | undefined;
}

type Counted = ControlPlaneOptions & { readonly metrics: Metrics };

function startServer(
  { store, clock, log, version, directory, metrics, serverFor, ...options }: Counted,
  { dialects, shared, runtime, artifacts, templates, words }: Parts,
  controllers: () => string | undefined,
): Promise<ApiServer> {
  const { about, rootCertificate, accountKey, audit, yamlReaderPath } = options;
  const { dialectOptions = {} } = options;
  const reviewParts = async (name: string): Promise<ReviewParts> => ({
    client: (await started).client(),
    templates,
    options: dialectOptions[name],
  });
  const told = about === undefined ? {} : { about: () => about(words.ports) };
  const pages = lazyPages(async () => ({
    client: (await started).client(),
    dialects,
    templates,
    directory: uiDirectory,
    clock,
    log,
    random: systemRandom,
    version,
    ...told,
  }));
  const started = createApiServer({
    hideLogsFromViewers: options.hideLogsFromViewers === true,
    ...told,
    pages,
    store,
    clock,
    log,
    version,
    admissions: [{ ...shared, name: "" }, ...dialects].flatMap(({ admission, name }) =>
      admission.map((one) => reviewing(one, () => reviewParts(name))),
    ),
    artifacts: {
      kinds: dialects.flatMap(({ runs }) => runs.kinds),
      read: (namespace, digest) => artifacts.read(namespace, digest),
    },
    podLogs: createPodLogs({ directory: `${directory}/pods`, runtime, clock }),
    podSessions: onceThere(() => words.sessions),
    logSources: logSourcesOf(dialects, directory, clock, words.logs),
    health: { controllers, "pod-runner": () => runtime.trouble?.() },
    metrics,
    definitions: definitionsOf([shared, ...dialects]),
    // Host processes have other ways to this server, and files of their own would take a mount namespace.
    mountsAccountTokens: serverFor !== undefined && runtime.containers !== undefined,
    ...(rootCertificate === undefined ? {} : { rootCertificate }),
    ...(accountKey === undefined ? {} : { accountKey }),
    ...(audit === undefined ? {} : { audit }),
    ...(options.maxEvents === undefined ? {} : { limits: { maxEvents: options.maxEvents } }),
    ...(yamlReaderPath === undefined ? {} : { yamlReaderPath }),
  });
  return started;
}

/** An admission whose reviews have what they need. */
export const reviewing = (admission: Admission, parts: () => Promise<ReviewParts>): KindAdmission => ({
  ...admission,
  ...(admission.review === undefined
    ? {}
    : {
        reviewed: async (object) => (await admission.review?.(object, await parts())) ?? { causes: [], warnings: [] },
      }),
  ...(admission.reviewDeletion === undefined
    ? {}
    : { deletionReviewed: async (object) => (await admission.reviewDeletion?.(object, await parts())) ?? [] }),
});

/** The definitions of all our kinds. A test proves that they may be stored unchecked. */
export const definitionsOf = (owners: readonly Pick<Dialect, "kinds">[]): readonly CrdDocument[] =>
  toCrds([Credential, ...new Set(owners.flatMap(({ kinds }) => kinds))]).map((definition) =>
    asOurs(preferringStored(definition)),
  );

/** A manager with all controllers, not started. Kinds come first: a controller waits until its kind is served. */
async function makeManager(options: Counted, parts: Parts, server: ApiServer): Promise<Manager> {
  const { dialects, shared, runtime, artifacts, words } = parts;
  const { clock, log, directory, environment, workingDirectory, metrics, signal } = options;
  const client = server.client();

  // Updates definitions of earlier versions.
  if (options.isFresh !== true)
    await installCrds(client, definitionsOf([shared, ...dialects]), { clock, log, random: systemRandom, signal });
  const runtimeName = runtime.containers === undefined ? "process" : "docker";
  const node = thisNode(runtimeName);
  const clientFor = (object: KubeObject) => server.clientFor(object);
  const clientAs = (user: Writer) => server.client(user);
  const manager = new Manager({ client, clientFor, clientAs, clock, log, random: systemRandom, metrics });
  addJobController(manager, { instance: node.name });
  addCronJobController(manager, { instance: node.name });
  addReplicaSetController(manager, { instance: node.name });
  addDeploymentController(manager, { instance: node.name });
  addStatefulSetController(manager, { instance: node.name });
  addServiceProxy(manager);
  addClaimController(manager, { directory: `${directory}/volumes` });
  const { version } = options;
  const runtimeVersion = runtime.containers?.version ?? version;
  const machine = { version, runtime: runtimeName, runtimeVersion, ...system() };
  addNode(manager, node, machine, { trouble: () => runtime.trouble?.(), conditions: words.conditions });
  words.sessions = addPodRunner(manager, {
    runtime,
    directory: `${directory}/pods`,
    volumes: `${directory}/volumes`,
    node,
    environment,
    isRoot: process.getuid?.() === 0,
    allowPrivileged: options.allowPrivileged === true,
    issueToken: tokensOf(server),
    artifacts,
    ...(options.serverFor === undefined ? {} : { serverFor: options.serverFor }),
    ...(workingDirectory === undefined ? {} : { workingDirectory }),
  });
  // Objects of any dialect may reference artifacts, and so may Pods.
  addArtifactSweeper(manager, artifacts, [Pod, ...dialects.flatMap(({ kinds }) => kinds)]);
  shared.addControllers(manager);
  for (const dialect of dialects) await dialect.addControllers(manager, controllerParts(options, parts, dialect));
  return manager;
}

/** Refuses with 503 until the pod runner has started. */
function onceThere(find: () => PodSessions | undefined): PodSessions {
  const found = (): PodSessions => {
    const sessions = find();
    if (sessions === undefined) throw new ApiError("ServiceUnavailable", "the pod runner has not started yet");
    return sessions;
  };
  return {
    check: async (...asked) => found().check(...asked),
    exec: async (...asked) => found().exec(...asked),
    attach: async (...asked) => found().attach(...asked),
    connect: async (...asked) => found().connect(...asked),
  };
}

/** gRPC is loaded when a dialect opens a port. */
const controllerParts = (
  { audit, clock, directory, version, environment, notes = [], dialectOptions = {} }: Counted,
  { runtime, templates, words, streams }: Parts,
  dialect: Dialect,
): ControllerParts => ({
  version,
  templates,
  directory: dialectDirectory(directory, dialect),
  options: dialectOptions[dialect.name],
  environment,
  notes,
  async openPort(address) {
    const { RpcPort } = await import("#kernel/rpc/index.ts");
    const port = await RpcPort.open(address);
    words.opened.push(port);
    return port;
  },
  ...(streams === undefined ? {} : { podStreams: streams.open }),
  runsPodsOnHost: runtime.containers === undefined,
  audit: (entry) => audit?.append(JSON.stringify({ time: formatInstant(clock.now()), ...entry })),
  tellPort(port) {
    const at = words.ports.findIndex(({ serves }) => serves === port.serves);
    words.ports.splice(at < 0 ? words.ports.length : at, 1, port);
  },
  tellLogs: (open) => void words.logs.set(dialect.name, open),
  tellCondition: (condition) => void words.conditions.push(condition),
});

/** Requested like a kubelet does. */
const tokensOf =
  (server: ApiServer): IssueToken =>
  async ({ namespace, account, pod, audience, seconds }) => {
    const answer = server.accountToken(
      { namespace, name: account },
      {
        spec: {
          expirationSeconds: seconds,
          boundObjectRef: { apiVersion: "v1", kind: "Pod", ...pod },
          ...(audience === undefined ? {} : { audiences: [audience] }),
        },
      },
    );
    const { token, expirationTimestamp } = objectAt(answer, "status") ?? {};
    const expiresAt = parseInstant(scalarText(expirationTimestamp));
    if (typeof token !== "string" || expiresAt === undefined) throw new Error("the server answered without a token");
    return { token, expiresAt };
  };

/** The only node of an embedded control plane: this machine. */
function thisNode(runtime: string): Node {
  const name = hostname().toLowerCase();
  return {
    name,
    address: "127.0.0.1",
    labels: {
      "kubernetes.io/hostname": name,
      "kubernetes.io/os": process.platform,
      "kubernetes.io/arch": goArchitectures[arch()] ?? arch(),
      // For `nodeSelector`.
      "slipway.dev/runtime": runtime,
      [carriesLabel]: "true",
      [keptOutputLabel]: `${keptLastWord}`,
    },
    cpus: cpus().length,
    memoryBytes: totalmem(),
  };
}

/** In Go's words, which Kubernetes' tools expect. */
const goArchitectures: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386" };

const system = () => ({
  osImage: `${type()} ${release()}`,
  kernelVersion: release(),
  operatingSystem: platform(),
  architecture: goArchitectures[arch()] ?? arch(),
});
