import type { StepView } from "#engine/index.ts";
import { command, exitCode, type Invocation, UsageError } from "#kernel/command/index.ts";
import type { FollowedRun } from "../follow-run.ts";
import { logName, type StepLog } from "../pod-logs.ts";

/**
 * `action` is one more step; `tail` counts for each container; `attempt` is that of the step, from 1 on, and is not for `--follow`, which shows
 * what comes.
 */
interface LogsOptions {
  readonly follow?: boolean;
  readonly action?: string;
  readonly attempt?: number;
  readonly tail?: number;
  readonly timestamps?: boolean;
}

/**
 * Steps in the order of the run, the containers of one step oldest first. Without steps on the command line every
 * line has its step's name. With `--follow` lines of several steps come as they are written, and the command ends
 * with the run, whatever became of it; with `exitCode.failed` when a log could not be shown to its end.
 */
export const logsCommand = command<LogsOptions>({
  name: "logs",
  args: ["<run>", "[steps...]"],
  summary: "Print the logs of a run's steps",
  group: "Runs",
  examples: [
    "slipway logs diamond",
    "slipway logs diamond two -f",
    "slipway logs retry flaky --attempt 1",
    "slipway logs templates part/tell",
  ],
  options: [
    { flags: "-f, --follow", summary: "follow until the run has ended" },
    { flags: "--action <name>", summary: "only this step (the word of some dialects)" },
    { flags: "--attempt <number>", summary: "only this attempt", integer: true },
    { flags: "--tail <lines>", summary: "print print only the last lines of each", integer: true },
    { flags: "--timestamps", summary: "print the time of each line" },
  ],
  completes: ["run", "step"],
  async action(invocation) {
    const { withSession } = await import("#kernel/command/index.ts");
    const { childrenOf, findRun, viewOf } = await import("../runs.ts");
    const { args, rest, options, environment, clock, signal } = invocation;
    return await withSession(invocation, async ({ client, namespace }) => {
      const named = await findRun({ client, namespace }, [args[0] ?? "", ...rest]);
      const words = [...named.rest, ...(options.action === undefined ? [] : [options.action])];
      const ref = { type: named.type, namespace, name: named.name };
      const { startLogStream } = await import("../log-stream.ts");
      const object = await client.get(ref);
      const view = viewOf(named.dialect, object, await childrenOf(client, object, named.dialect));
      const { followRun, hasEnded } = await import("../follow-run.ts");
      const mayBeToCome = options.follow === true && view.steps.length === 0 && !hasEnded(view);
      let known = mayBeToCome ? { steps: [], names: words } : chooseSteps(view.steps, words);
      const prefix = words.length !== 1;
      const isWanted = (log: StepLog) => isNamed(log, known.names);
      if (options.follow !== true) {
        await printAll(client, known.steps, { prefix, isWanted }, invocation);
        return exitCode.succeeded;
      }
      const how = { prefix, isWanted, ...readOptions(options) };
      const refused = new AbortController();
      const until = AbortSignal.any([signal, refused.signal]);
      const stream = startLogStream(client, environment, how, clock, until);
      // A run may learn of its steps only when something runs it; and of more of them on its way.
      const see = ({ view: { steps } }: FollowedRun): void => {
        if (steps.length === 0) return;
        try {
          known = chooseSteps(steps, words);
          stream.see(known.steps);
        } catch (thrown) {
          refused.abort(thrown);
        }
      };
      try {
        await followRun(client, ref, named.dialect, clock, see, until);
        // What ends with the first word of its steps is over before it could be left.
        refused.signal.throwIfAborted();
        return (await stream.close()) ? exitCode.succeeded : exitCode.failed;
      } catch (thrown) {
        throw refused.signal.aborted ? refused.signal.reason : thrown;
      } finally {
        stream.stop();
      }
    });
  },
});

/**
 * The steps of these words in the order of the run, all without words; and the words as ids. Refuses words that are none, with those that
 * are. Of `part/tell` only `part` can be judged: what is in it may still come.
 */
function chooseSteps(
  steps: readonly StepView[],
  words: readonly string[],
): { readonly steps: readonly StepView[]; readonly names: readonly string[] } {
  const paths = words.map((word) => idOf(word, steps));
  const names = paths.map((path) =>
    steps.some(({ id }) => id === path) ? path : (/^[^/[#]*/.exec(path)?.[0] ?? path),
  );
  const unknown = names.filter((name) => !steps.some(({ id }) => id === name));
  if (unknown.length > 0)
    throw new UsageError(
      `no step ${unknown.map((name) => `"${name}"`).join(", ")}`,
      `the steps are ${steps.map(nameOf).join(", ")}`,
    );
  return { steps: names.length === 0 ? steps : steps.filter(({ id }) => names.includes(id)), names: paths };
}

/** Steps that have numbers for ids are called by people as they are named: `web`, or `build/web` with its group. Other words are left as they are. */
const idOf = (word: string, steps: readonly StepView[]): string =>
  steps.some(({ id }) => id === word)
    ? word
    : (steps.find(({ name, group }) => word === name || word === `${group ?? ""}/${name}`)?.id ?? word);

/** A number says nothing to people, who have given a name. */
const nameOf = ({ id, name, group }: StepView): string =>
  /^\d+$/.test(id) ? [...(group === undefined ? [] : [group]), name].join("/") : id;

/** `part/tell` names that step of `part` in all items and attempts, `part[0]/tell` in one of them. */
function isNamed(log: StepLog, names: readonly string[]): boolean {
  const called = logName(log);
  const plain = called.replaceAll(/\[\d+\]|#\d+/g, "");
  return names.length === 0 || names.some((name) => [called, plain].some((path) => `${path}/`.startsWith(`${name}/`)));
}

/** In the words of the API. */
const readOptions = ({ tail, timestamps }: LogsOptions) => ({
  ...(tail === undefined ? {} : { tailLines: tail }),
  ...(timestamps === true ? { timestamps } : {}),
});

/** One container after the other, each to its end: the order in which they started, not that in which they wrote. */
async function printAll(
  client: Parameters<typeof import("../step-logs.ts").stepLogs>[0],
  steps: readonly StepView[],
  { prefix, isWanted }: { readonly prefix: boolean; readonly isWanted: (log: StepLog) => boolean },
  { options, environment }: Invocation<LogsOptions>,
) {
  const { readStepLog, stepLogs } = await import("../step-logs.ts");
  const { LinePrefixer } = await import("../output/line-prefixer.ts");
  for (const step of steps) {
    for (const log of (await stepLogs(client, step, options.attempt)).filter(isWanted)) {
      const lines = new LinePrefixer(prefix || log.inner !== undefined ? labelOf(log, step) : "");
      const tellWhy = (why: string) => environment.err.write(`slipway: ${step.id}: ${why}\n`);
      for await (const chunk of readStepLog(client, log, readOptions(options), tellWhy))
        environment.out.write(lines.push(chunk));
      environment.out.write(lines.end());
    }
  }
}

/** Attempts are told apart as soon as there may be several. */
const labelOf = (log: StepLog, { attempts = 1 }: StepView): string =>
  log.inner === undefined && log.item === undefined && log.attempt === 1 && attempts > 1
    ? `${log.step}#1 | `
    : `${logName(log)} | `;
