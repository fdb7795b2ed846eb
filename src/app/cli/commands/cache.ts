import { command, exitCode, UsageError } from "#kernel/command/index.ts";

/** Absent: text for people. */
interface CacheOptions {
  readonly item?: number;
  readonly output?: "json";
}

/** `kubectl get ce` lists what is stored, `kubectl delete ce` makes steps run again. */
const verbs = ["explain"] as const;

/**
 * Tells of one step whether it finds an earlier result, and if not, which input is different. Ends with 0 whatever the answer is: a miss is no
 * failure. A step without a cache, or one whose inputs are not known yet, is a wrong question.
 */
export const cacheCommand = command<CacheOptions>({
  name: "cache",
  args: ["<action>", "<run>", "<step>"],
  summary: "Explain why a step used a cached result, or did not",
  group: "Runs",
  examples: ["slipway cache explain cached compile", "slipway cache explain cached compile -o json"],
  options: [
    { flags: "--item <index>", summary: "index of an item of a fan-out (default: the first)", integer: true },
    { flags: "-o, --output <format>", summary: "json", choices: ["json"] },
  ],
  completes: [verbs, "run", "step"],
  async action(invocation) {
    const { actionWord } = await import("#kernel/command/index.ts");
    const { withSession } = await import("#kernel/command/index.ts");
    const { abilityOf, findRun } = await import("../runs.ts");
    const { cacheText } = await import("../output/cache-text.ts");
    const { environment, clock, args, options } = invocation;
    // All three are there: commander refuses the command without them.
    const [verb = "", run = "", step = ""] = args;
    actionWord(verbs, verb);
    return await withSession(invocation, async ({ client, namespace }) => {
      const { type, name, dialect } = await findRun({ client, namespace }, [run]);
      const object = await client.get({ type, namespace, name });
      // Every entry may be the nearest one; a namespace has at most a thousand.
      const { items: entries } = await client.list(cacheEntries, { namespace });
      const { item } = options;
      const question = { step, entries, now: clock.now(), ...(item === undefined ? {} : { item }) };
      const found = await abilityOf(dialect, "explainCache", "asked for earlier results")(object, question);
      if (!found.ok) throw new UsageError(`${name}: ${found.error}`);
      const isJson = options.output === "json";
      environment.out.write(isJson ? `${JSON.stringify(found.value, null, 2)}\n` : cacheText(found.value));
      return exitCode.succeeded;
    });
  },
});

/** The kind is the dialect's; its name is all that is needed to list it. */
const cacheEntries = {
  group: "slipway.dev",
  version: "v1alpha1",
  kind: "CacheEntry",
  plural: "cacheentries",
  namespaced: true,
};
