import { onAbort, oneLine } from "#lib/base/index.ts";
import { act, type Dialect } from "#kernel/dialect/index.ts";
import type { RunView } from "#engine/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import type { ResourceType, Stored } from "#kernel/model/index.ts";
import { codeOfRun, exitCode, type Invocation, UsageError } from "#kernel/command/index.ts";
import type { RunOptions } from "./run-options.ts";
import type { ControlPlaneSession } from "./control-plane.ts";
import { type FollowedRun, followRun, hasEnded } from "./follow-run.ts";
import { startLogStream } from "./log-stream.ts";
import { startLive } from "./output/live.ts";
import { paintFor } from "#kernel/command/index.node.ts";
import { changedLines, holdUpLines } from "./output/run-lines.ts";
import { renderTree } from "./output/run-tree.ts";
import { patiently } from "./patience.ts";
import { childrenOf, lastTails, podScopeOf, type StepTail, viewOf, watchRunPods } from "#app/runs/index.ts";
import { watchTroubles } from "./server-state.ts";
import { obstacleText } from "./stuck.ts";

export interface StartedRun {
  readonly stored: Stored;
  readonly type: ResourceType;
  readonly dialect: Dialect;
  /** The control plane is private to this command. */
  readonly isAlone: boolean;
  /** See `ControlPlaneSession`. */
  readonly agentsFor?: ControlPlaneSession["agentsFor"] | undefined;
}

export type WatchOptions = Pick<RunOptions, "logs" | "tail" | "output">;

/** Shows a run while it changes. */
interface Display {
  show(view: RunView): void;
  /** Prints lines that stay. */
  say(text: string): void;
  close(): void;
}

/**
 * Follows one run: live if it is alone on a terminal without logs, else as plain lines. Then prints the tail of every
 * failed step and returns the exit code of the run, or of the signal. The first signal cancels the run, whose final
 * steps are still shown; `main.ts` ends the process at the second. Rejects when the run is deleted or lost.
 */
export async function watchToEnd(
  client: ApiClient,
  run: StartedRun,
  invocation: Invocation<WatchOptions>,
  isOnly: boolean,
): Promise<number> {
  const { environment, clock, options, signal } = invocation;
  const isLive = isOnly && environment.err.isTerminal && options.logs !== true;
  const display = isLive ? liveDisplay(invocation) : plainDisplay(invocation);
  const { stored, type, dialect } = run;
  const over = new AbortController();
  const ref = { type, namespace: stored.metadata.namespace ?? "default", name: stored.metadata.name };
  const interrupted = cancelOnSignal(client, run, invocation, display);
  const stream =
    options.logs === true
      ? startLogStream(client, environment, { prefix: true }, clock, interrupted.giveUp)
      : undefined;
  const picture = pictureOf(run, display);
  const scope = podScopeOf(dialect, stored);
  if (scope !== undefined) watchRunPods(client, scope, clock, (pods) => picture.seePods(pods), over.signal);
  if (!run.isAlone) watchTroubles(client, clock, (text) => display.say(text), over.signal);
  try {
    const last = await followRun(
      client,
      ref,
      dialect,
      clock,
      (seen) => {
        expectGoing(run, seen.object, interrupted.fail);
        picture.see(seen);
        stream?.see(seen.view.steps);
      },
      interrupted.giveUp,
    );
    over.abort();
    await stream?.close();
    display.close();
    const { view, tails } = await patiently(clock, interrupted.giveUp, async () => {
      const seen = viewOf(dialect, last.object, await childrenOf(client, last.object, dialect));
      return { view: seen, tails: await lastTails(client, seen, options.tail, clock) };
    });
    printTails(tails, invocation, isOnly);
    if (options.output === "json") environment.out.write(`${JSON.stringify(last.object, null, 2)}\n`);
    return signal.aborted ? Number(process.exitCode ?? exitCode.canceled) : codeOfRun(view);
  } finally {
    over.abort();
    stream?.stop();
    display.close();
    interrupted.close();
  }
}

/** Starts the agents that the run needs. Gives up a run that was refused: someone would have to fix it first. */
function expectGoing({ dialect, agentsFor }: StartedRun, object: Stored, fail: (reason: Error) => void): void {
  agentsFor?.(dialect, object, fail);
  const refusal = dialect.runs.refusal?.(object);
  if (refusal !== undefined) fail(new UsageError(`${object.metadata.name} cannot start: ${refusal}`));
}

/**
 * Combines the states of a run with its Pods, which show what holds up steps. Reports once that a run cannot continue.
 */
function pictureOf({ dialect, isAlone }: StartedRun, display: Display) {
  let last: FollowedRun | undefined;
  let pods: readonly Stored[] = [];
  let isTold = !isAlone;
  const show = (): void => {
    if (last === undefined) return;
    const view = pods.length === 0 ? last.view : viewOf(dialect, last.object, pods);
    display.show(view);
    const obstacle = isTold || hasEnded(view) || view.phase === "Cancelling" ? undefined : obstacleText(view);
    if (obstacle === undefined) return;
    isTold = true;
    display.say(obstacle);
  };
  return {
    see(run: FollowedRun): void {
      last = run;
      show();
    },
    seePods(found: readonly Stored[]): void {
      pods = found;
      show();
    },
  };
}

/** The first signal cancels the run; `giveUp` aborts if the cancel itself fails. */
function cancelOnSignal(
  client: ApiClient,
  { stored, type }: StartedRun,
  { signal, clock }: Invocation<WatchOptions>,
  display: Display,
) {
  const giveUp = new AbortController();
  const cancel = () => {
    display.say("slipway: canceling the run; interrupt again to stop at once");
    const run = { type, name: stored.metadata.name };
    act(
      client,
      stored.metadata.namespace ?? "default",
      run,
      { action: "cancel", reason: "interrupted" },
      clock,
      giveUp.signal,
    ).catch((thrown: unknown) => giveUp.abort(thrown));
  };
  const close = onAbort(signal, cancel);
  return { giveUp: giveUp.signal, fail: (reason: Error): void => giveUp.abort(reason), close };
}

function liveDisplay({ environment: { err }, clock }: Invocation<WatchOptions>): Display {
  let current: RunView | undefined;
  let isClosed = false;
  const paint = paintFor(err.color);
  const live = startLive(
    err,
    clock,
    () => err.rows,
    (frame) =>
      current === undefined
        ? []
        : renderTree(current, clock.now(), { paint, unicode: err.unicode, columns: err.columns, frame }),
  );
  return {
    show: (view) => {
      current = view;
    },
    say: (text) => live.print(text.split("\n")),
    close() {
      if (!isClosed) live.close();
      isClosed = true;
    },
  };
}

/** One line for each change, for logs and pipes. */
function plainDisplay({ environment: { err }, clock }: Invocation<WatchOptions>): Display {
  let before: RunView | undefined;
  const told = new Set<string>();
  return {
    show(view) {
      const now = clock.now();
      for (const line of [...changedLines(before, view, now), ...holdUpLines(view, told, now)]) err.write(`${line}\n`);
      before = view;
    },
    say: (text) => err.write(`${text}\n`),
    close: () => undefined,
  };
}

/**
 * Shows which step failed and how, and its last lines. Names the container unless it is `main`, and the attempt from
 * the second on. Lines of a run's only step are its result and go to stdout.
 */
function printTails(
  tails: readonly StepTail[],
  { environment, options }: Invocation<WatchOptions>,
  isOnly: boolean,
): void {
  const { out, err } = environment;
  const paint = paintFor(err.color);
  const isResult = isOnly && options.logs !== true && options.output === undefined;
  for (const tail of tails) {
    const { step, inner, item, attempt, container, lines } = tail;
    if (step.phase !== "Failed") {
      if (isResult) for (const line of lines) out.write(`${line}\n`);
      continue;
    }
    const name = inner ?? `${oneLine(step.name)}${item === undefined ? "" : `[${item}]`}`;
    const which = [
      attempt > 1 && inner === undefined ? `attempt ${attempt}` : "",
      container === undefined || container === "main" ? "" : container,
    ]
      .filter(Boolean)
      .join(", ");
    err.write(`${paint.bad(`${name}${which === "" ? "" : ` (${which})`}: ${failureOf(tail)}`)}\n`);
    for (const line of lines) err.write(`  ${line}\n`);
  }
}

/**
 * The step's message is about one container or all items; each has its own exit code. Another cause, such as a timeout,
 * is shown beside it.
 */
function failureOf({ step, inner, item, exitCode: code }: StepTail): string {
  const message = oneLine(step.message ?? step.reason ?? "failed");
  if (code === undefined) return message;
  const own = `exit code ${code}`;
  const isOwn = message === own || message.startsWith(`${own}:`);
  if (isOwn && inner === undefined && item === undefined) return message;
  const isOfOther = inner !== undefined || item !== undefined || message.startsWith("exit code ");
  return isOfOther ? own : `${message}; ${own}`;
}
