import { dialects } from "#dialects/index.ts";
import { Exit, exitCode, UsageError } from "#kernel/command/index.ts";
import type { DialectOptions, ServerOptions, ServerOptionSources } from "#kernel/dialect/index.ts";

const isForControllers = ({ forControllers }: ServerOptions): boolean => forControllers === undefined;

/** Options of dialects, which `up` has all of and `controllers` those that are not about servers. */
export const controllerOptions = dialects.flatMap(({ serverOptions }) =>
  serverOptions !== undefined && isForControllers(serverOptions) ? serverOptions.specs : [],
);

/** Throws a UsageError with all problems. */
export async function readDialectOptions(
  sources: ServerOptionSources,
  verb: "up" | "controllers",
): Promise<DialectOptions> {
  const given: [string, unknown][] = [];
  const problems: string[] = [];
  let isReported = false;
  for (const { name, serverOptions } of dialects) {
    if (serverOptions === undefined) continue;
    if (verb === "controllers" && !isForControllers(serverOptions)) {
      given.push([name, serverOptions.forControllers]);
      continue;
    }
    const read = await serverOptions.read(sources);
    if (read.ok) given.push([name, read.value]);
    else problems.push(...read.error);
    isReported ||= !read.ok && read.error.length === 0;
  }
  if (problems.length > 0) throw new UsageError(problems.join("\n"));
  if (isReported) throw new Exit(exitCode.usage);
  return Object.fromEntries(given);
}
