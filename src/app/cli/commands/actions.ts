import type { Dialect } from "#kernel/dialect/index.ts";
import type { JsonObject } from "#lib/base/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { command, exitCode, type OptionSpec, UsageError } from "#kernel/command/index.ts";
import type { ActionRequest } from "../run-actions.ts";

/** Of all verbs; a verb that does not declare an option never sees it. */
interface ActionOptions {
  readonly step?: string[];
  /** `name=text`, read by the type that the step declares. */
  readonly value?: string[];
  /** Without final steps. */
  readonly force?: boolean;
  /** From the first step that has not succeeded, and not anew. */
  readonly fromFailed?: boolean;
  /** Is stored in the RunAction, where everybody who sees the run can read it. */
  readonly reason?: string;
  readonly output?: "json" | "yaml" | "name";
}

type Verb = ActionRequest["action"];

/** One verb. `past` is what is printed when it was carried out, in the form of kubectl: `workflow/diamond canceled`. */
interface Action {
  readonly verb: Verb;
  readonly summary: string;
  readonly past: string;
  /** Whether it is about one step, which is named after the run. Absent: about the run only. */
  readonly step?: "required" | "optional";
  readonly options?: readonly OptionSpec[];
  readonly examples?: readonly string[];
}

const common: readonly OptionSpec[] = [
  { flags: "--reason <text>", summary: "reason to record" },
  {
    flags: "-o, --output <format>",
    summary: "print the resulting RunAction: json, yaml or name",
    choices: ["json", "yaml", "name"],
  },
];

/**
 * The commands that steer a run. All do the same: record a RunAction and tell how it was judged. They end with 0 when
 * it was carried out and with 1 when it was refused, with the controller's reason on stderr.
 */
const actionCommand = ({ verb, summary, past, step: taken, options: own = [], examples }: Action) =>
  command<ActionOptions>({
    name: verb,
    ...argsOf[taken ?? "none"],
    summary,
    group: "Runs",
    examples: examples ?? [`slipway ${verb} diamond`, `slipway ${verb} workflow/diamond`],
    options: [...own, ...common],
    completes: taken === undefined ? ["run"] : ["run", "step"],
    async action(invocation) {
      const { withSession } = await import("#kernel/command/index.ts");
      const { findRun, isStopping } = await import("../runs.ts");
      const { act } = await import("../run-actions.ts");
      const { args, options, environment, clock, signal, rest } = invocation;
      return await withSession(invocation, async ({ client, namespace }) => {
        const run = await findRun({ client, namespace }, taken === undefined ? rest : [args[0] ?? "", ...rest]);
        const step = stepOf(verb, taken, run.rest, options.step);
        const named = step === undefined ? options : { ...options, step: [step] };
        const values =
          step === undefined || options.value === undefined
            ? undefined
            : await valuesOf(
                await client.get({ type: run.type, namespace, name: run.name }, { signal }),
                run.dialect,
                step,
                options.value,
              );
        const answer = await act(client, namespace, run, requestOf(verb, named, values), clock, signal);
        const name = `${run.type.kind.toLowerCase()}/${run.name}`;
        if (options.output !== undefined) {
          const { formatObjects } = await import("../output/formats.ts");
          environment.out.write(await formatObjects([answer.object], true, { kind: options.output }));
        }
        if (answer.phase === "Refused") {
          environment.err.write(`slipway: ${name}: ${answer.message}\n`);
          return exitCode.failed;
        }
        if (options.output !== undefined) return exitCode.succeeded;
        // Of an approval it matters how many are still missing.
        // A retry may be a run of its own, which the person wants to follow.
        const made = answer.createdRun === undefined ? "" : ` as ${answer.createdRun}`;
        const isPending = verb === "cancel" && step === undefined && (await isStopping(client, namespace, run, signal));
        const count = verb === "approve" && answer.message !== "" ? ` (${answer.message})` : "";
        environment.out.write(
          `${name} ${step === undefined ? "" : `step ${step} `}${isPending ? "cancel requested" : past}${made}${count}\n`,
        );
        return exitCode.succeeded;
      });
    },
  });

const argsOf = {
  none: { args: ["<run...>"], shown: ["<run>"] },
  optional: { args: ["<run>", "[step...]"], shown: ["<run>", "[step]"] },
  required: { args: ["<run>", "<step...>"], shown: ["<run>", "<step>"] },
} as const;

/** The one step that an action is about, as a word behind the run or as its option; a retry takes several by its option. */
function stepOf(
  verb: Verb,
  taken: Action["step"],
  words: readonly string[],
  option: readonly string[] = [],
): string | undefined {
  if (taken === undefined) {
    if (words.length > 0) throw new UsageError(`${verb} takes one run, found also ${words.join(", ")}`);
    return undefined;
  }
  const steps = [...words, ...option];
  if (steps.length > 1 || (taken === "required" && steps.length === 0)) {
    const many = taken === "required" ? "one of its steps" : "at most one of its steps";
    throw new UsageError(`${verb} takes a run and ${many}, found ${steps.length} steps`);
  }
  return steps[0];
}

/** The run knows what its step asks for, so that `1` is a number where one is asked for. Everything wrong is told at once. */
async function valuesOf(
  object: KubeObject,
  dialect: Dialect,
  step: string,
  pairs: readonly string[],
): Promise<JsonObject> {
  const { readParams } = await import("#kernel/command/index.ts");
  const { abilityOf } = await import("../runs.ts");
  const { values: texts, problems } = readParams(pairs, "--value");
  const values = await abilityOf(dialect, "approvalValues", "approved with values")(object, step, texts);
  const wrong = [...problems.map(({ message }) => message), ...(values.ok ? [] : [values.error])];
  if (!values.ok || wrong.length > 0) throw new UsageError(wrong.join("; "));
  return values.value;
}

/**
 * A retry takes several steps, every other action one; what was not asked for is left out, because the server refuses
 * fields that mean nothing for an action.
 */
function requestOf(
  action: Verb,
  { step = [], force, fromFailed, reason: why }: ActionOptions,
  values: JsonObject | undefined,
): ActionRequest {
  const chosen = step.length === 0 ? {} : action === "retry" ? { steps: step } : { step: step[0] ?? "" };
  return {
    action,
    ...chosen,
    ...(values === undefined ? {} : { values }),
    ...(force === true ? { force } : {}),
    ...(fromFailed === true ? { fromFailed } : {}),
    ...(why === undefined ? {} : { reason: why }),
  };
}

/** Repeatable so that a second one of a cancel is refused instead of taking the place of the first. */
const step = (summary: string): OptionSpec => ({ flags: "--step <name>", summary, repeatable: true });

const actions: readonly Action[] = [
  {
    verb: "cancel",
    summary: "Cancel a run or one of its steps; final steps still run",
    past: "canceled",
    step: "optional",
    options: [
      step("only this step, as the word behind the run"),
      { flags: "--force", summary: "also cancel the final steps" },
    ],
  },
  { verb: "suspend", summary: "Suspend a run: running steps continue, no others start", past: "suspended" },
  { verb: "resume", summary: "Resume a suspended run", past: "resumed" },
  {
    verb: "retry",
    summary: "Re-run the failed steps of a finished run and their dependants",
    past: "retried",
    options: [
      step("this step and its dependants; may be repeated"),
      {
        flags: "--from-failed",
        summary: "start with the failed step, for runs that a retry otherwise starts over",
      },
    ],
  },
  {
    verb: "approve",
    summary: "Approve a waiting step of a run",
    past: "approved",
    step: "required",
    options: [
      { flags: "--value <name=value>", summary: "an input of the approval; may be repeated", repeatable: true },
    ],
    examples: ["slipway approve rollout sign-off", "slipway approve rollout plan --value replicas=3 --reason tested"],
  },
  {
    verb: "reject",
    summary: "Reject a waiting step of a run; one rejection fails the step",
    past: "rejected",
    step: "required",
    examples: ["slipway reject rollout publish --reason 'not on a Friday'"],
  },
  {
    verb: "skip",
    summary: "Skip a step that has not started; its dependants run",
    past: "skipped",
    step: "required",
    examples: ["slipway skip rollout announce"],
  },
];

/** In the order of `--help`. `cancel` exits with 0 once the controller has accepted it; the run may still be stopping. */
export const actionCommands = actions.map(actionCommand);
