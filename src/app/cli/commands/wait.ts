import { SlipwayError } from "#lib/base/index.ts";
import { command, exitCode, UsageError, withSession } from "#kernel/command/index.ts";
import { type SelectionOptions, selectionOptions } from "../selected-objects.ts";

interface WaitOptions extends SelectionOptions {
  readonly for?: string;
  readonly timeout: string;
}

/** As `kubectl wait`. Exits with 1 if an object does not exist or does not meet the condition in time. */
export const waitCommand = command<WaitOptions>({
  name: "wait",
  args: ["[kind]", "[names...]"],
  summary: "Wait until objects meet a condition",
  group: "Runs",
  examples: [
    "slipway wait workflow/diamond --for=condition=Complete --timeout=5m",
    "slipway wait workflow/diamond --for='jsonpath={.status.phase}=Succeeded'",
    "slipway wait workflow/gone --for=delete",
  ],
  options: [
    { flags: "--for <condition>", summary: "condition=NAME[=VALUE], jsonpath={PATH}[=VALUE], create or delete" },
    {
      flags: "--timeout <duration>",
      summary: "how long to wait; 0 checks once, a negative value waits a week",
      initial: "30s",
    },
    ...selectionOptions,
  ],
  completes: ["kind", "name"],
  async action(invocation) {
    const { forEach, titleOf } = await import("../manifests.ts");
    const { selectObjects } = await import("../selected-objects.ts");
    const { conditionOf, durationOf, waitUntil } = await import("../wait-until.ts");
    const { isNotFound } = await import("#kernel/model/index.ts");
    const { args, rest, options, environment, clock, signal } = invocation;
    if (options.for === undefined)
      throw new UsageError("--for is required", "such as --for=condition=Complete or --for=delete");
    const holds = conditionOf(options.for);
    const wanted = durationOf(options.timeout);
    const end = clock.monotonic() + (wanted < 0 ? weekMs : wanted);
    const words = args[0] === undefined ? [] : [args[0], ...rest];
    return await withSession(invocation, async (session) => {
      const refs = await selectObjects(session, words, options, environment);
      if (refs.length === 0) throw new SlipwayError("no-match", "no object matches");
      const isWell = await forEach(
        refs,
        async (ref) => {
          const isMandatory = options.for !== "delete" && options.for !== "create";
          // A misspelt name would be waited for in vain.
          const found = await session.client.get(ref).catch((thrown: unknown) => {
            if (isMandatory || !isNotFound(thrown)) throw thrown;
            return undefined;
          });
          const timeout = Math.max(1, end - clock.monotonic());
          if (!holds(found) && !(await waitUntil(session.client, ref, holds, { clock, signal, timeout })))
            throw new SlipwayError("timeout", `timed out waiting for the condition on ${titleOf(ref)}`);
          environment.out.write(`${titleOf(ref)} condition met\n`);
        },
        environment,
      );
      return isWell ? exitCode.succeeded : exitCode.failed;
    });
  },
});

const weekMs = 7 * 24 * 3600 * 1000;
