import { SlipwayError } from "#lib/base/index.ts";
import { command, exitCode, withSession } from "#kernel/command/index.ts";
import { type SelectionOptions, selectionOptions } from "../selected-objects.ts";

interface DeleteOptions extends SelectionOptions {
  readonly cascade: "background" | "foreground" | "orphan";
  readonly dryRun: "none" | "server";
  readonly gracePeriod?: number;
  readonly ignoreNotFound?: boolean;
  readonly output?: "name";
  readonly timeout?: string;
  readonly wait: "true" | "false";
}

const policies = { background: "Background", foreground: "Foreground", orphan: "Orphan" } as const;

/**
 * As `kubectl delete`: waits until the objects are gone. Continues after an object that cannot be deleted, and exits
 * with 1 then.
 */
export const deleteCommand = command<DeleteOptions>({
  name: "delete",
  args: ["[kind]", "[names...]"],
  summary: "Delete objects and wait until they are gone",
  group: "Runs",
  examples: [
    "slipway delete workflow diamond",
    "slipway delete swf/nightly --ignore-not-found",
    "slipway delete jobs -l app=demo",
  ],
  options: [
    ...selectionOptions,
    {
      flags: "--cascade <policy>",
      summary: "how their dependents are deleted",
      choices: ["background", "foreground", "orphan"],
      initial: "background",
    },
    {
      flags: "--dry-run <mode>",
      summary: "server: check everything and delete nothing",
      choices: ["none", "server"],
      initial: "none",
    },
    { flags: "--grace-period <seconds>", summary: "seconds that Pods get to shut down", integer: true },
    { flags: "--ignore-not-found", summary: "treat missing objects as deleted" },
    { flags: "-o, --output <format>", summary: "name: print names only", choices: ["name"] },
    { flags: "--timeout <duration>", summary: "how long to wait, such as 30s (default: no limit)" },
    { flags: "--wait <bool>", summary: "wait until the objects are gone", choices: ["true", "false"], initial: "true" },
  ],
  completes: ["kind", "name"],
  async action(invocation) {
    const { isNotFound } = await import("#kernel/model/index.ts");
    const { forEach, titleOf, wordOf } = await import("../manifests.ts");
    const { selectObjects } = await import("../selected-objects.ts");
    const { durationOf, waitUntil } = await import("../wait-until.ts");
    const { args, rest, options, environment, clock, signal } = invocation;
    const timeout = options.timeout === undefined ? undefined : durationOf(options.timeout);
    const words = args[0] === undefined ? [] : [args[0], ...rest];
    const isDry = options.dryRun === "server";
    return await withSession(invocation, async (session) => {
      const { client } = session;
      const refs = await selectObjects(session, words, options, environment);
      if (refs.length === 0) environment.err.write("slipway: no object matches\n");
      const isWell = await forEach(
        refs,
        async (ref) => {
          const answer = await client
            .delete(ref, {
              propagationPolicy: policies[options.cascade],
              ...(options.gracePeriod === undefined ? {} : { gracePeriodSeconds: options.gracePeriod }),
              dryRun: isDry,
            })
            .catch((thrown: unknown) => {
              if (options.ignoreNotFound !== true || !isNotFound(thrown)) throw thrown;
            });
          if (answer === undefined) return;
          const done = isDry ? "deleted (server dry run)" : "deleted";
          environment.out.write(
            options.output === "name" ? `${titleOf(ref)}\n` : `${wordOf(ref.type)} "${ref.name}" ${done}\n`,
          );
          const uid = "uid" in answer.metadata ? answer.metadata.uid : undefined;
          // A Status means that the object is gone.
          if (isDry || options.wait === "false" || uid === undefined) return;
          const isGone = await waitUntil(client, ref, (object) => object?.metadata.uid !== uid, {
            clock,
            signal,
            timeout,
          });
          if (!isGone) throw new SlipwayError("timeout", `timed out waiting for the deletion of ${titleOf(ref)}`);
        },
        environment,
      );
      return isWell ? exitCode.succeeded : exitCode.failed;
    });
  },
});
