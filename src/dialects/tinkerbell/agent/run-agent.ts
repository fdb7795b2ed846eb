import {
  aborted,
  type Millis,
  sleep,
  type Clock,
  type Logger,
  messageOf,
  onAbort,
  type Random,
} from "#lib/base/index.ts";
import { AgentDesk, type DeskOptions } from "./agent-desk.ts";
import type { AgentServer, AgentConnection } from "./connection.ts";
import type { LogPusher } from "./log-pusher.ts";
import { told } from "./messages.ts";
import { resumedBy } from "./agent-state.ts";
import { retryDelay } from "./backoff.ts";

export interface AgentOptions extends Omit<DeskOptions, "logs"> {
  /** Without it output stays on this machine. */
  readonly logs?: LogPusher;
  readonly server: AgentServer;
  /** Otherwise the running action goes on, and the next process with this journal adopts it. */
  readonly killsOnExit: boolean;
}

/** Time to deliver the last events at the end; the journal keeps the rest. */
const farewell: Millis = 5_000;

/** Runs an agent until the signal aborts, adopting what an earlier process left. Rejects for a bad journal. */
export async function runAgent(options: AgentOptions, signal: AbortSignal): Promise<void> {
  await options.logs?.open();
  const desk = await AgentDesk.open(options, signal);
  // The state of the action is unknown, so there is nothing to report.
  if (signal.aborted) return desk.close();
  const link = new AbortController();
  const linked = keepConnected({ ...options, desk }, link.signal);
  await aborted(signal);
  if (options.killsOnExit) await endWork(desk, options);
  link.abort(signal.reason);
  // First, because the link may wait for a full disk.
  await desk.close();
  await linked;
}

async function endWork(desk: AgentDesk, { clock, stopGrace }: AgentOptions): Promise<void> {
  const { work } = desk.state;
  if (work === undefined) return;
  void desk.put({ is: "stop", workflow: work.workflow.id, message: told.stoppedAtExit });
  await until(desk, () => desk.state.work === undefined, sleep(clock, stopGrace + farewell));
  await until(desk, () => desk.state.outbox.length === 0, sleep(clock, farewell));
}

async function until(desk: AgentDesk, isReached: () => boolean, limit: Promise<void>): Promise<void> {
  const over = limit.then(() => "over" as const);
  while (!isReached()) if ((await Promise.race([desk.changed(), over])) === "over") return;
}

interface LinkOptions {
  readonly server: AgentServer;
  readonly desk: AgentDesk;
  /** Without it output stays on this machine. */
  readonly logs?: LogPusher;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** A connection that lasted this long resets the backoff. */
const lasting: Millis = 15_000;

/** Stays connected until the signal aborts. Never rejects; an unreachable server is retried for ever. */
async function keepConnected(options: LinkOptions, signal: AbortSignal): Promise<void> {
  const { server, desk, clock, random, log } = options;
  for (let failures = 1; !signal.aborted; failures++) {
    const began = clock.monotonic();
    // Looked up for each connection: an action may have ended meanwhile.
    const trouble = await connectOnce(server, desk, options, signal).catch(messageOf);
    if (signal.aborted) return;
    if (clock.monotonic() - began >= lasting) failures = 1;
    const delay = retryDelay(failures, random);
    log.warn("not connected to the server", {
      error: trouble ?? "the server has ended the connection",
      retryInMs: delay,
    });
    await sleep(clock, delay, signal).catch(() => undefined);
  }
}

async function connectOnce(
  server: AgentServer,
  desk: AgentDesk,
  options: LinkOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  const connection = await server.connect(resumedBy(desk.state), signal);
  options.log.info("connected to the server");
  const broken = new AbortController();
  const end = () => broken.abort(new Error("the connection is broken"));
  const forget = onAbort(signal, end);
  // Also ends the commands.
  onAbort(broken.signal, () => connection.close());
  const telling = tellEvents(connection, options, broken.signal);
  const pushing = pushLogs(connection, options, broken.signal);
  try {
    await hearCommands(connection, desk);
    return undefined;
  } finally {
    end();
    forget();
    await Promise.all([telling, pushing]);
  }
}

/** One at a time, each durable before the next is read. A server repeats commands that no event acknowledged. */
async function hearCommands({ commands }: AgentConnection, desk: AgentDesk): Promise<void> {
  for await (const command of commands) {
    await desk.put(command.is === "stop" ? { ...command, message: told.stoppedByServer } : command);
  }
}

/** Runs beside the events. Ends with the connection and never rejects. */
async function pushLogs(connection: AgentConnection, { logs }: LinkOptions, broken: AbortSignal): Promise<void> {
  const sink = await Promise.race([connection.logs, aborted(broken).then(() => undefined)]);
  if (sink !== undefined) await logs?.run(sink, broken);
}

/** Delivers events in order, each until it is answered. Ends with the connection and never rejects. */
async function tellEvents(connection: AgentConnection, options: LinkOptions, broken: AbortSignal): Promise<void> {
  const { desk, clock, random, log } = options;
  const over = aborted(broken);
  let failures = 0;
  while (!broken.aborted) {
    const change = desk.changed();
    const [first] = desk.state.outbox;
    if (first === undefined) {
      await Promise.race([change, over]);
      continue;
    }
    try {
      const answer = await connection.publish(first.workflow, first.event, broken);
      failures = 0;
      if (answer === "refused")
        log.warn("the server has refused an event", { workflow: first.workflow, ...first.event });
      await desk.put({ is: "answered", seq: first.seq, answer });
    } catch (thrown) {
      if (broken.aborted) return;
      failures += 1;
      log.warn("an event cannot be told", { workflow: first.workflow, error: messageOf(thrown) });
      await sleep(clock, retryDelay(failures, random), broken).catch(() => undefined);
    }
  }
}
