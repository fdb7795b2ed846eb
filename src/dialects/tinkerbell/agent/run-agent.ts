import { aborted, type Millis, sleep } from "#lib/base/index.ts";
import { AgentDesk, type DeskOptions } from "./agent-desk.ts";
import type { AgentServer } from "./connection.ts";
import { keepConnected } from "./keep-connected.ts";
import type { LogPusher } from "./log-pusher.ts";
import { told } from "./messages.ts";

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
