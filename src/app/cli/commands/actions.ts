import type { ActionRequest, Dialect } from "#kernel/dialect/index.ts";
import type { JsonObject } from "#lib/base/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { command, exitCode, type OptionSpec, readParams, UsageError, withSession } from "#kernel/command/index.ts";

/** The options of all verbs; each verb sees only those it declares. */
interface ActionOptions {
  readonly step?: string[];
  readonly value?: string[];
  readonly force?: boolean;
  readonly fromFailed?: boolean;
  readonly reason?: string;
  readonly output?: "json" | "yaml" | "name";
}

type Verb = ActionRequest["action"];

/** `past` is printed on success, as by kubectl: `workflow/diamond canceled`. */
interface Action {
  readonly verb: Verb;
  readonly summary: string;
  readonly past: string;
  /** Whether a step follows the run; when absent, the verb acts on whole runs only. */
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
 * The commands that steer a run: each creates a RunAction and prints the controller's verdict. The exit code is 0 when
 * the action succeeded and 1 when it was refused, with the reason on stderr.
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
      const { findRun, isStopping, refuseMore } = await import("../runs.ts");
      const { act } = await import("#kernel/dialect/index.ts");
      const { args, options, environment, clock, signal, rest } = invocation;
      return await withSession(invocation, async ({ client, namespace }) => {
        const run = await findRun({ client, namespace }, taken === undefined ? rest : [args[0] ?? "", ...rest]);
        if (taken === undefined) refuseMore(`${verb} takes one run`, run.rest);
        const step = stepOf(verb, taken, run.rest, options.step);
        const named = step === undefined ? options : { ...options, step: [step] };
        const ref = { type: run.type, namespace, name: run.name };
        const values =
          step === undefined || options.value === undefined
            ? undefined
            : await valuesOf(await client.get(ref, { signal }), run.dialect, step, options.value);
        const answer = await act(client, namespace, run, requestOf(verb, named, values), clock, signal);
        const name = `${run.type.kind.toLowerCase()}/${run.name}`;
        if (options.output !== undefined) {
          const { formatObjects } = await import("../output/formats.ts");
          environment.out.write(await formatObjects([answer.object], true, { kind: options.output }));
        }
        if (answer.phase === "Refused") {
          environment.err.write(`slipway: ${name}: ${answer.message}\n`);
          const others = taken === "required" ? stepsFor(verb, run.dialect, await client.get(ref, { signal })) : [];
          if (others.length > 0 && !others.includes(step ?? ""))
            environment.err.write(`steps that can be ${past}: ${others.join(", ")}\n`);
          return exitCode.failed;
        }
        if (options.output !== undefined) return exitCode.succeeded;
        // An approval prints how many are still missing, a retry the run it has created.
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

/** The first steps of a run on which the verb is possible. */
const stepsFor = (verb: Verb, dialect: Dialect, object: KubeObject): readonly string[] =>
  dialect.runs
    .view(object, [])
    .steps.flatMap(({ id, actions }) => (actions.includes(verb) ? [id] : []))
    .slice(0, 10);

const argsOf = {
  none: { args: ["<run...>"], shown: ["<run>"] },
  optional: { args: ["<run>", "[step...]"], shown: ["<run>", "[step]"] },
  required: { args: ["<run>", "<step...>"], shown: ["<run>", "<step>"] },
} as const;

/** The step is a word after the run or an option; retry accepts several as options. */
function stepOf(
  verb: Verb,
  taken: Action["step"],
  words: readonly string[],
  option: readonly string[] = [],
): string | undefined {
  if (taken === undefined) return undefined;
  const steps = [...words, ...option];
  if (steps.length > 1 || (taken === "required" && steps.length === 0)) {
    const many = taken === "required" ? "one of its steps" : "at most one of its steps";
    throw new UsageError(`${verb} takes a run and ${many}, found ${steps.length} steps`);
  }
  return steps[0];
}

/** Converts the values to the types that the step declares; reports all problems at once. */
async function valuesOf(
  object: KubeObject,
  dialect: Dialect,
  step: string,
  pairs: readonly string[],
): Promise<JsonObject> {
  const { abilityOf } = await import("../runs.ts");
  const { values: texts, problems } = readParams(pairs, "--value");
  const values = await abilityOf(dialect, "approvalValues", "approved with values")(object, step, texts);
  const wrong = [...problems.map(({ message }) => message), ...(values.ok ? [] : [values.error])];
  if (!values.ok || wrong.length > 0) throw new UsageError(wrong.join("; "));
  return values.value;
}

/** Leaves out what was not given: the server refuses fields that mean nothing for an action. */
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

/** Repeatable, so that two steps for cancel are refused rather than one ignored. */
const step = (summary: string): OptionSpec => ({ flags: "--step <name>", summary, repeatable: true });

const actions: readonly Action[] = [
  {
    verb: "cancel",
    summary: "Cancel a run or one of its steps; final steps still run",
    past: "canceled",
    step: "optional",
    options: [
      step("only this step, as the word after the run"),
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
      { flags: "--from-failed", summary: "start with the failed step, for runs that a retry otherwise starts over" },
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

/** In the order of `--help`. */
export const actionCommands = actions.map(actionCommand);
