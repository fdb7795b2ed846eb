import { aborted, deferred, type Millis } from "#lib/base/index.ts";
import { Fleet, Waiters } from "#kernel/agents/index.ts";
import { type EventRecorder, type Manager, regardingOf, type Informer } from "#kernel/kit/index.ts";
import { type CallObserver, RpcListener, type RpcPort, type RpcService, type TlsPaths } from "#kernel/rpc/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { type AnyHardware, agentsOfHardware } from "../hardware.ts";
import { Hardware, Workflow } from "../kinds.ts";
import { present } from "../members.ts";
import type { Notice } from "../messages.ts";
import { defaultSettings, type Settings } from "../settings.ts";
import { agentKey } from "../state.ts";
import type { AnyWorkflow } from "../stored.ts";
import { Absence } from "./absence.ts";
import { type Connection, streamsOfAgents } from "./connection.ts";
import { Dispatcher } from "./dispatcher.ts";
import { type AgentAuth, identifyBy } from "./identity.ts";
import { Lanes } from "./lanes.ts";
import { addLogs } from "./logs.ts";
import { serverMetrics } from "./metrics.ts";
import type { AskParts } from "./poll-service.ts";
import { recordEvent, type RecordParts, type ReportParts } from "./record-event.ts";
import { WorkflowMirror } from "./workflow-mirror.ts";

export interface TinkerbellServerOptions {
  /** `host:port`; port 0 is any free one. */
  readonly listen: string;
  /** The port if it was opened elsewhere; the server closes it. */
  readonly port?: Promise<RpcPort>;
  readonly name?: string;
  readonly settings?: Partial<Settings>;
  readonly auth?: AgentAuth;
  /** Plaintext without it. */
  readonly tls?: TlsPaths;
  /** How long a poll is held; 30 s by default. */
  readonly pollHold?: Millis;
  readonly keepalive?: { readonly time: Millis; readonly timeout: Millis };
  /** Directory and size limit of logs, 1 GiB by default. Without it agents keep their logs. */
  readonly logs?: { readonly directory: string; readonly maxBytes?: number };
}

/** An unplugged agent is noticed after the sum. */
export const usualKeepalive = { time: 30_000, timeout: 10_000 };
const usualPollHold: Millis = 30_000;
/** Polling agents pause for at most five seconds, so a longer silence means that they are gone. */
const silenceAfterHold: Millis = 30_000;

/** The server without its port, for the listener and tests. */
export interface TinkerbellDesk {
  /** Loaded by the first connection. */
  readonly services: () => Promise<readonly RpcService[]>;
  readonly observe: CallObserver;
  /** Resolves when all workflows are known; until then agents get no commands. */
  ready(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** Creates the parts of a server, for a manager that has not started. */
export function createDesk(
  manager: Manager,
  options: Omit<TinkerbellServerOptions, "listen" | "port" | "tls">,
): TinkerbellDesk {
  const { client, clock, log } = manager;
  const settings: Settings = { ...defaultSettings, ...options.settings };
  const mirror = new WorkflowMirror(manager.mirror<AnyWorkflow>(Workflow));
  const hardware = new HardwareAgents(manager.mirror<AnyHardware>(Hardware));
  const recorder = manager.recorder({
    controller: "slipway.dev/tinkerbell-server",
    instance: options.name ?? "slipway",
  });
  const tell = tellerOf(recorder);
  const connections = streamsOfAgents();
  const lanes = new Lanes();
  const waiters = new Waiters();
  const pollHold = options.pollHold ?? usualPollHold;
  const fleet = new Fleet({
    client,
    clock,
    log,
    recorder,
    server: options.name ?? "slipway",
    keyOf: agentKey,
    workflowOf: (key) => mirror.heldBy(key)[0]?.key,
    isNamed: (agentID) => hardware.has(agentID) || mirror.hasUnfinished(agentKey(agentID)),
    silence: pollHold + silenceAfterHold,
    isConnected: (agentID) => connections.get(agentID) !== undefined,
    // Agents that hold a workflow do not poll.
    isBusy: (key) => mirror.heldBy(key).length > 0,
  });
  const { onSent, onJudged, observe } = serverMetrics(manager.metrics, clock, {
    stream: () => connections.size,
    poll: () => fleet.unconnected,
  });
  const dispatcher = new Dispatcher({ client, clock, log, settings, mirror, connections, lanes, tell, onSent });
  const absence = new Absence({
    client,
    clock,
    log,
    settings,
    mirror,
    lanes,
    isPresent: (key) => connections.get(key) !== undefined,
  });
  const wake = (agent: string): void => {
    dispatcher.wake(agent);
    absence.changed(agent);
    waiters.wake(agentKey(agent));
  };
  const unsubscribe = mirror.onChange(wake);
  const parts: RecordParts = {
    client,
    clock,
    settings,
    mirror,
    lanes,
    tell,
    wake: (agent) => {
      fleet.seen(agent);
      wake(agent);
    },
    onJudged,
    stopAgain: (agent, id) => dispatcher.stopAgain(agent, id),
  };
  // Before the manager starts, because it uses the same mirror.
  const logs = options.logs === undefined ? undefined : addLogs(manager, mirror, options.logs);
  const identify = identifyBy(options.auth ?? { mode: "none" }, manager);
  const connect = (connection: Connection): (() => void) => {
    const { isDuplicate } = connections.open(connection, clock.now());
    const wasAsking = waiters.supersede(connection.key);
    fleet.connected(connection, "stream", isDuplicate || wasAsking);
    dispatcher.wake(connection.key);
    absence.changed(connection.key);
    return () => {
      if (!connections.close(connection)) return;
      fleet.disconnected(connection.agentID);
      absence.left(connection.agentID);
    };
  };
  const record: ReportParts["record"] = (id, event, from) => recordEvent(parts, id, event, from);
  const seen: AskParts["seen"] = (agentID, protocol, { isIndividual }, attributes) => {
    const hadStream = connections.supersede(agentID);
    fleet.heard({ agentID, isIndividual, ...present({ attributes }) }, protocol, hadStream);
  };
  return {
    services: async () =>
      (await import("./services.ts")).servicesOf({
        client,
        clock,
        settings,
        mirror,
        tell,
        identify,
        lanes,
        waiters,
        pollHold,
        seen,
        record,
        onSent,
        connect,
        logs: logs?.parts,
      }),
    observe,
    async ready(signal) {
      await mirror.synced(signal);
      fleet.begin();
      absence.begin();
      await logs?.upkeep.run();
    },
    async close() {
      await logs?.close();
      unsubscribe();
      dispatcher.close();
      absence.close();
      await fleet.close();
    },
  };
}

const tellerOf =
  (recorder: EventRecorder) =>
  (workflow: Stored, notices: readonly Notice[]): void => {
    for (const { type, reason, message } of notices)
      recorder.record({ type, reason, action: "Serve", note: message, regarding: regardingOf(workflow) });
  };

/** Adds the server for agents to a manager that has not started, leader or not. Resolves with the port. */
export function addTinkerbellServer(
  manager: Manager,
  options: TinkerbellServerOptions,
): { readonly port: Promise<number> } {
  const desk = createDesk(manager, options);
  const port = deferred<number>();
  // The manager reports a failure, too.
  port.promise.catch(() => undefined);
  manager.add({
    name: "tinkerbell-server",
    runsWithoutLeadership: true,
    async run({ stop }) {
      try {
        await serve(manager, desk, options, stop, port.resolve);
      } catch (thrown) {
        port.reject(thrown);
        if (!stop.aborted) throw thrown;
      } finally {
        await desk.close();
      }
    },
  });
  return { port: port.promise };
}

async function serve(
  { clock, log }: Manager,
  desk: TinkerbellDesk,
  { listen, port, tls, keepalive = usualKeepalive }: TinkerbellServerOptions,
  stop: AbortSignal,
  onListening: (port: number) => void,
): Promise<void> {
  await desk.ready(stop);
  const listener = await RpcListener.start({
    address: (await port) ?? listen,
    services: desk.services,
    observe: desk.observe,
    clock,
    log,
    keepalive,
    ...(tls === undefined ? {} : { tls }),
  });
  // Shows the port that the system chose.
  log.info("agents are served", { address: listen.replace(/:0$/, `:${listener.port}`) });
  onListening(listener.port);
  await aborted(stop);
  await listener.close();
}

class HardwareAgents {
  readonly #counts = new Map<string, number>();

  constructor(hardware: Informer<AnyHardware>) {
    hardware.addHandler({
      add: (added) => this.#count(added, 1),
      update: (before, after) => {
        this.#count(before, -1);
        this.#count(after, 1);
      },
      delete: (deleted) => this.#count(deleted, -1),
    });
  }

  has(agentID: string): boolean {
    return this.#counts.has(agentKey(agentID));
  }

  #count(hardware: AnyHardware, by: 1 | -1): void {
    for (const agentID of agentsOfHardware(hardware)) {
      const key = agentKey(agentID);
      const count = (this.#counts.get(key) ?? 0) + by;
      if (count > 0) this.#counts.set(key, count);
      else this.#counts.delete(key);
    }
  }
}
