import type { CachedResult, CacheExplanation } from "#kernel/dialect/index.ts";
import { actionWord, command, exitCode, UsageError, withSession } from "#kernel/command/index.ts";

interface CacheOptions {
  readonly item?: number;
  readonly output?: "json";
}

const verbs = ["explain"] as const;

/**
 * Explains whether a step finds a cached result, and which input differs if not. A miss is no failure; a step without a
 * cache, or with inputs that are still unknown, is a usage error.
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
    const { abilityOf, readRun } = await import("../runs.ts");
    const { environment, clock, args, options } = invocation;
    const [verb = "", run = "", step = ""] = args;
    actionWord(verbs, verb);
    return await withSession(invocation, async ({ client, namespace }) => {
      const { name, dialect, object } = await readRun({ client, namespace }, [run]);
      // A namespace has at most a thousand entries.
      const { items: entries } = await client.list(cacheEntries, { namespace });
      const { item } = options;
      const question = { step, entries, now: clock.now(), ...(item === undefined ? {} : { item }) };
      const found = await abilityOf(dialect, "explainCache", "cached")(object, question);
      if (!found.ok) throw new UsageError(`${name}: ${found.error}`);
      const isJson = options.output === "json";
      environment.out.write(isJson ? `${JSON.stringify(found.value, null, 2)}\n` : await cacheText(found.value));
      return exitCode.succeeded;
    });
  },
});

const cacheEntries = {
  group: "slipway.dev",
  version: "v1alpha1",
  kind: "CacheEntry",
  plural: "cacheentries",
  namespaced: true,
};

/**
 * The verdict, then one line for each field that differs from the nearest result. Long values and possible secrets are
 * digests.
 */
async function cacheText({ step, item, outcome, message, nearest, changes }: CacheExplanation): Promise<string> {
  const { formatTable } = await import("#kernel/command/index.node.ts");
  const which = item === undefined ? step : `${step}[${item}]`;
  const head = `${which}: ${outcome}, ${message}\n`;
  if (nearest === undefined) return head;
  const rows = changes.map(({ field, was, is }) => [field, valueText(was), valueText(is)]);
  return `${head}nearest: ${originText(nearest)}, stored ${nearest.storedTime}\n\n${formatTable(["FIELD", "WAS", "IS"], rows)}`;
}

const originText = ({ workflow, step, item }: CachedResult): string =>
  `${workflow} ${step}${item === undefined ? "" : `[${item}]`}`;

const valueText = (value: string | undefined): string => value?.replaceAll("\n", "\\n") ?? "-";
