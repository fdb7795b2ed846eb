import {
  aborted,
  type Clock,
  type Logger,
  messageOf,
  type Millis,
  onAbort,
  type Random,
  sleep,
} from "#lib/base/index.ts";
import type { AgentDesk } from "./agent-desk.ts";
import { resumedBy } from "./agent-state.ts";
import { retryDelay } from "./backoff.ts";
import type { AgentConnection, AgentServer } from "./connection.ts";
import type { LogPusher } from "./log-pusher.ts";
import { told } from "./messages.ts";

export interface LinkOptions {
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
export async function keepConnected(options: LinkOptions, signal: AbortSignal): Promise<void> {
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
