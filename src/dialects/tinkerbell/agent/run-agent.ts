import { aborted, type Millis, sleep } from "#lib/base/index.ts";
import { AgentDesk, type DeskOptions } from "./agent-desk.ts";
import type { AgentServer } from "./connection.ts";
import { keepConnected } from "./keep-connected.ts";
import type { LogPusher } from "./log-pusher.ts";
import { told } from "./messages.ts";

export interface AgentOptions extends Omit<DeskOptions, "logs"> {
  /** What actions print stays on this machine without. */
  readonly logs?: LogPusher;
  readonly server: AgentServer;
  /** An action that runs is ended with the agent. Otherwise it goes on, and the next process on this journal takes it up. */
  readonly killsOnExit: boolean;
}

/** What is left to tell when the agent is to end has this long; the journal keeps the rest. */
const farewell: Millis = 5_000;

/**
 * Is an agent until the signal aborts: takes up what an earlier process has left, and carries out what the server says. Rejects only when
 * the journal cannot be read.
 */
export async function runAgent(options: AgentOptions, signal: AbortSignal): Promise<void> {
  await options.logs?.open();
  const desk = await AgentDesk.open(options, signal);
  // Before it was known what became of the action: there is nothing to tell, and nobody to tell it to.
  if (signal.aborted) return desk.close();
  const link = new AbortController();
  const linked = keepConnected({ ...options, desk }, link.signal);
  await aborted(signal);
  if (options.killsOnExit) await endWork(desk, options);
  link.abort(signal.reason);
  // The desk first: what the link waits for may be a disk that stays full.
  await desk.close();
  await linked;
}

/** The server is told, if it is there. */
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
