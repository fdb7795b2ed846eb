import { defined } from "#lib/base/index.ts";
import {
  command,
  type CommandSpec,
  exitCode,
  type Invocation,
  UsageError,
  withSession,
} from "#kernel/command/index.ts";
import { namedApplication, namedRun } from "./named.ts";

interface VerbOptions {
  readonly step?: string;
  readonly reason?: string;
  readonly revision?: string;
}

const reason = { flags: "--reason <text>", summary: "reason to record" } as const;

const terminateCommand = command<VerbOptions>({
  name: "terminate",
  args: ["<run>"],
  summary: "Stop the workflow of an application or WorkflowRun",
  group: "Runs",
  examples: ["slipway terminate app/shop", "slipway terminate wr/report --reason 'wrong image'"],
  options: [reason],
  completes: ["run"],
  action: (invocation) => actOn(invocation, "cancel", "terminated"),
});

const restartCommand = command<VerbOptions>({
  name: "restart",
  args: ["<run>"],
  summary: "Run a workflow again from its start or a failed step",
  group: "Runs",
  examples: ["slipway restart app/shop", "slipway restart app/shop --step deploy"],
  options: [{ flags: "--step <name>", summary: "start with this failed step" }, reason],
  completes: ["run"],
  action: (invocation) => actOn(invocation, "retry", "restarted"),
});

/** Both are RunActions, which the controller answers. */
async function actOn(invocation: Invocation<VerbOptions>, action: "cancel" | "retry", past: string): Promise<number> {
  const { args, options, environment, clock, signal } = invocation;
  const run = namedRun(args[0] ?? "");
  const { act } = await import("#kernel/dialect/index.ts");
  return await withSession(invocation, async ({ client, namespace }) => {
    const { step, reason: why } = options;
    const request = {
      action,
      ...defined({ step, reason: why }),
    };
    const answer = await act(client, namespace, run, request, clock, signal);
    const name = `${run.type.kind.toLowerCase()}/${run.name}`;
    if (answer.phase === "Refused") {
      environment.err.write(`slipway: ${name}: ${answer.message}\n`);
      return exitCode.failed;
    }
    environment.out.write(`${name} ${past}\n`);
    return exitCode.succeeded;
  });
}

const rollbackCommand = command<VerbOptions>({
  name: "rollback",
  args: ["<application>"],
  summary: "Give an application the spec of its last good revision",
  group: "Runs",
  examples: ["slipway rollback app/shop", "slipway rollback app/shop --revision shop-v3"],
  options: [{ flags: "--revision <name>", summary: "this revision instead of the last one that succeeded" }],
  completes: ["run"],
  async action(invocation) {
    const { args, options, environment, signal } = invocation;
    const name = namedApplication(args[0] ?? "");
    const { rollBack } = await import("./rollback.ts");
    return await withSession(invocation, async ({ client, namespace }) => {
      const done = await rollBack(client, { namespace, name, revision: options.revision }, invocation.clock, signal);
      if (!done.ok) {
        environment.err.write(`slipway: application/${name}: ${done.error}\n`);
        return exitCode.failed;
      }
      environment.out.write(`application/${name} rolled back to ${done.value}\n`);
      return exitCode.succeeded;
    });
  },
});

const debugCommand = command<VerbOptions>({
  name: "debug",
  args: ["<run>"],
  summary: "Print the CUE value of a step of a run",
  group: "Runs",
  examples: ["slipway debug app/shop --step deploy"],
  options: [{ flags: "--step <name>", summary: "name of the step; required" }],
  completes: ["run"],
  async action(invocation) {
    const { args, options, environment, signal } = invocation;
    const run = namedRun(args[0] ?? "");
    const { step } = options;
    if (step === undefined) throw new UsageError("--step is required: the step whose value is printed");
    const { debugValue } = await import("./debug.ts");
    return await withSession(invocation, async ({ client, namespace }) => {
      const value = await debugValue(client, { ...run, namespace, step }, signal);
      if (!value.ok) throw new UsageError(value.error.message, value.error.hint);
      environment.out.write(value.value.endsWith("\n") ? value.value : `${value.value}\n`);
      return exitCode.succeeded;
    });
  },
});

interface DryRunFlags {
  readonly file?: string[];
  readonly definitions?: string[];
  readonly diff?: boolean;
}

const dryRunCommand = command<DryRunFlags>({
  name: "dry-run",
  args: [],
  summary: "Print the objects of an application without applying them",
  group: "Documents",
  examples: [
    "slipway dry-run -f examples/vela/first.yaml",
    "slipway dry-run -f app.yaml -d definitions/",
    "slipway dry-run -f app.yaml --diff",
  ],
  options: [
    { flags: "-f, --file <file>", summary: "file or folder with applications; may be repeated", repeatable: true },
    {
      flags: "-d, --definitions <file>",
      summary: "file or folder with definitions; may be repeated",
      repeatable: true,
    },
    { flags: "--diff", summary: "compare with the objects of the control plane" },
  ],
  completes: [],
  action: async (invocation) => (await import("./dry-run.ts")).dryRun(invocation, invocation.options),
});

export const verbs: readonly CommandSpec[] = [
  terminateCommand,
  restartCommand,
  rollbackCommand,
  debugCommand,
  dryRunCommand,
];
