import type { StepView } from "#engine/index.ts";
import { command, exitCode, type Invocation, UsageError, withSession } from "#kernel/command/index.ts";
import type { FollowedRun } from "../follow-run.ts";
import { logName, type StepLog } from "#app/runs/index.ts";

/** `action` names one more step; `tail` counts for each container; `attempt` is ignored with `--follow`. */
interface LogsOptions {
  readonly follow?: boolean;
  readonly action?: string;
  readonly attempt?: number;
  readonly tail?: number;
  readonly timestamps?: boolean;
}

/**
 * Prints steps in the order of the run, and the containers of a step oldest first, with the step's name on each line
 * unless one step is named. With `--follow`, lines come as they are written, and the command ends with the run; it
 * exits with 1 if a log could not be read to its end.
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
    { flags: "--action <name>", summary: "only this step, which some dialects call an action" },
    { flags: "--attempt <number>", summary: "only this attempt", integer: true },
    { flags: "--tail <lines>", summary: "print only the last lines of each container", integer: true },
    { flags: "--timestamps", summary: "print the time of each line" },
  ],
  completes: ["run", "step"],
  async action(invocation) {
    const { childrenOf, viewOf } = await import("#app/runs/index.ts");
    const { readRun } = await import("../runs.ts");
    const { args, rest, options, environment, clock, signal } = invocation;
    return await withSession(invocation, async ({ client, namespace }) => {
      const named = await readRun({ client, namespace }, [args[0] ?? "", ...rest]);
      const words = [...named.rest, ...(options.action === undefined ? [] : [options.action])];
      const ref = { type: named.type, namespace, name: named.name };
      const { startLogStream } = await import("../log-stream.ts");
      const view = viewOf(named.dialect, named.object, await childrenOf(client, named.object, named.dialect));
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
      // A run may get its steps, or more of them, only while it runs.
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
        // A run that ends with its first steps is over before the refusal aborts it.
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
 * The named steps in the order of the run, or all; refuses unknown words. Of `part/tell` only `part` is checked: its
 * inner steps may still come.
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

/** Steps with numeric ids are also found by name, `web` or `build/web`. Other words stay as they are. */
const idOf = (word: string, steps: readonly StepView[]): string =>
  steps.some(({ id }) => id === word)
    ? word
    : (steps.find(({ name, group }) => word === name || word === `${group ?? ""}/${name}`)?.id ?? word);

const nameOf = ({ id, name, group }: StepView): string =>
  /^\d+$/.test(id) ? [...(group === undefined ? [] : [group]), name].join("/") : id;

/** `part/tell` names that step in all items and attempts of `part`, `part[0]/tell` in one item. */
function isNamed(log: StepLog, names: readonly string[]): boolean {
  const called = logName(log);
  const plain = called.replaceAll(/\[\d+\]|#\d+/g, "");
  return names.length === 0 || names.some((name) => [called, plain].some((path) => `${path}/`.startsWith(`${name}/`)));
}

const readOptions = ({ tail, timestamps }: LogsOptions) => ({
  ...(tail === undefined ? {} : { tailLines: tail }),
  ...(timestamps === true ? { timestamps } : {}),
});

/** Prints one container after another, in the order in which they started. */
async function printAll(
  client: Parameters<typeof import("#app/runs/index.ts").stepLogs>[0],
  steps: readonly StepView[],
  { prefix, isWanted }: { readonly prefix: boolean; readonly isWanted: (log: StepLog) => boolean },
  { options, environment }: Invocation<LogsOptions>,
) {
  const { readStepLog, stepLogs } = await import("#app/runs/index.ts");
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

/** Marks the first attempt too when there are several. */
const labelOf = (log: StepLog, { attempts = 1 }: StepView): string =>
  log.inner === undefined && log.item === undefined && log.attempt === 1 && attempts > 1
    ? `${log.step}#1 | `
    : `${logName(log)} | `;
