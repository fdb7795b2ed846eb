import { deferred, type Millis } from "#lib/base/index.ts";
import { type EventRecorder, type Manager, regardingOf } from "#kernel/kit/index.ts";
import { RpcListener, type RpcService, type TlsPaths } from "#kernel/rpc/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { Workflow } from "../kinds.ts";
import type { Notice } from "../messages.ts";
import { defaultSettings, type Settings } from "../settings.ts";
import type { AnyWorkflow } from "../stored.ts";
import { AgentRecords } from "./agent-records.ts";
import { anybody, type Identify } from "./caller.ts";
import { type Connection, Connections } from "./connections.ts";
import { Dispatcher } from "./dispatcher.ts";
import { Lanes } from "./lanes.ts";
import { recordEvent, type RecordParts } from "./record-event.ts";
import { streamService } from "./stream-service.ts";
import { WorkflowMirror } from "./workflow-mirror.ts";

/** Where the server listens, and what may differ from the usual. */
export interface TinkerbellServerOptions {
  /** `host:port`; port 0 is a free one. */
  readonly listen: string;
  /** What Agent objects call this server. */
  readonly name?: string;
  readonly settings?: Partial<Settings>;
  /** Plaintext without. */
  readonly tls?: TlsPaths;
  readonly keepalive?: { readonly time: Millis; readonly timeout: Millis };
}

/** An agent that was unplugged is noticed after both together. */
const usualKeepalive = { time: 30_000, timeout: 10_000 };

/** What agents speak with, without the port: for the listener, and for tests. */
export interface TinkerbellDesk {
  readonly services: readonly RpcService[];
  /** Resolves when it knows all workflows; before, agents are not to be told anything. */
  ready(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** Makes the parts of a server and binds them to each other. Mirrors are the manager's, which must not have started. */
export function createDesk(manager: Manager, options: Omit<TinkerbellServerOptions, "listen" | "tls">): TinkerbellDesk {
  const { client, clock, log } = manager;
  const settings: Settings = { ...defaultSettings, ...options.settings };
  const mirror = new WorkflowMirror(manager.mirror<AnyWorkflow>(Workflow));
  const recorder = manager.recorder({
    controller: "slipway.dev/tinkerbell-server",
    instance: options.name ?? "slipway",
  });
  const tell = tellerOf(recorder);
  const connections = new Connections();
  const lanes = new Lanes();
  const agents = new AgentRecords({ client, clock, log, recorder, server: options.name ?? "slipway" });
  const dispatcher = new Dispatcher({ client, clock, log, settings, mirror, connections, lanes, tell });
  const unsubscribe = mirror.onChange((agent) => dispatcher.wake(agent));
  const parts: RecordParts = {
    client,
    clock,
    settings,
    mirror,
    lanes,
    tell,
    wake: (agent) => dispatcher.wake(agent),
    stopAgain: (agent, id) => dispatcher.stopAgain(agent, id),
  };
  const identify: Identify = anybody;
  const connect = (connection: Connection): (() => void) => {
    const { isDuplicate } = connections.open(connection, clock.now());
    agents.connected(connection, isDuplicate);
    dispatcher.wake(connection.key);
    return () => {
      if (connections.close(connection)) agents.disconnected(connection);
    };
  };
  return {
    services: [
      streamService({
        identify,
        connect,
        record: (id, event, caller) => recordEvent(parts, id, event, { caller, protocol: "stream" }),
      }),
    ],
    ready: (signal) => mirror.synced(signal),
    async close() {
      unsubscribe();
      dispatcher.close();
      await agents.close();
    },
  };
}

/** Kubernetes events of a workflow. */
const tellerOf =
  (recorder: EventRecorder) =>
  (workflow: Stored, notices: readonly Notice[]): void => {
    for (const { type, reason, message } of notices)
      recorder.record({ type, reason, action: "Serve", note: message, regarding: regardingOf(workflow) });
  };

/**
 * Adds the server of this dialect to a manager that has not started. It listens from when it knows all workflows until the manager stops, on every
 * server and not on the leader alone: each owns the streams that are connected to it. Resolves with the port.
 */
export function addTinkerbellServer(
  manager: Manager,
  options: TinkerbellServerOptions,
): { readonly port: Promise<number> } {
  const desk = createDesk(manager, options);
  const port = deferred<number>();
  // Whoever does not ask for the port hears of a failure from the manager.
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

/** From the first moment at which agents can be told the truth until the stop. */
async function serve(
  { clock, log }: Manager,
  desk: TinkerbellDesk,
  { listen, tls, keepalive = usualKeepalive }: TinkerbellServerOptions,
  stop: AbortSignal,
  onListening: (port: number) => void,
): Promise<void> {
  await desk.ready(stop);
  const listener = await RpcListener.start({
    address: listen,
    services: desk.services,
    clock,
    log,
    keepalive,
    ...(tls === undefined ? {} : { tls }),
  });
  log.info("agents are served", { address: listen, port: listener.port });
  onListening(listener.port);
  if (!stop.aborted)
    await new Promise<void>((resolve) => stop.addEventListener("abort", () => resolve(), { once: true }));
  await listener.close();
}
