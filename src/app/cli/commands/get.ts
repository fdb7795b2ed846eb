import { qualifiedResource, type ResourceType, type Stored } from "#kernel/model/index.ts";
import { messageOf, oneLine } from "#lib/base/index.ts";
import {
  command,
  type Environment,
  exitCode,
  type Invocation,
  UsageError,
  withSession,
} from "#kernel/command/index.ts";
import type { TableRequest } from "../server-table.ts";
import { type Format, formatHelp, formatObjects, parseFormat } from "../output/formats.ts";

/** The options of `kubectl get`. */
interface GetOptions {
  readonly output: string;
  readonly watch?: boolean;
  readonly allNamespaces?: boolean;
  readonly selector?: string;
}

/**
 * Prints the server's own tables. `--watch` continues from the listed revision, so no change is missed or repeated; it
 * exits with 0 when the server ends it.
 */
export const getCommand = command<GetOptions>({
  name: "get",
  args: ["<kind>", "[names...]"],
  summary: "List runs and other objects",
  group: "Runs",
  examples: ["slipway get workflows", "slipway get wf diamond -o yaml", "slipway get jobs -A -w"],
  options: [
    { flags: "-o, --output <format>", summary: formatHelp, initial: "table" },
    { flags: "-w, --watch", summary: "print every change" },
    { flags: "-A, --all-namespaces", summary: "in all namespaces" },
    { flags: "-l, --selector <labels>", summary: "only objects with these labels" },
  ],
  completes: ["kind", "name"],
  async action(invocation) {
    const { args, rest, options } = invocation;
    const { findKinds, splitNames } = await import("../kinds.ts");
    const { kindHaving } = await import("../runs.ts");
    const format = parseFormat(options.output);
    const words = splitNames([args[0] ?? "", ...rest]);
    return await withSession(invocation, async ({ client, namespace }) => {
      const kinds = await findKinds(client, words.kind);
      const type = await kindHaving(client, namespace, kinds, words.names[0] ?? "");
      if (options.watch === true && words.names.length > 1) throw new UsageError("--watch takes at most one name");
      const wide = options.allNamespaces === true || !type.namespaced;
      const target = {
        client,
        type,
        namespace: wide ? undefined : namespace,
        names: words.names,
        selector: options.selector,
      };
      const code = await (format.kind === "table"
        ? printTable(target, format.wide, invocation)
        : printObjects(target, format, invocation));
      if (words.names.length === 0 && options.watch !== true)
        await tellOthers(target, kinds.slice(1), invocation.environment);
      return code;
    });
  },
});

/**
 * As kubectl: one name prints the object itself, several or none print a List; a watch prints each object by itself.
 */
async function printObjects(
  target: TableRequest,
  format: Exclude<Format, { kind: "table" }>,
  invocation: Invocation<GetOptions>,
): Promise<number> {
  const { environment, options, signal } = invocation;
  const { objects, revision, missing } = await read(target);
  const single = target.names.length === 1;
  if (missing.length === 0 || objects.length > 0) environment.out.write(await formatObjects(objects, single, format));
  if (missing.length > 0) return tellMissing(missing, environment);
  if (options.watch !== true) return exitCode.succeeded;
  const { selectionOf } = await import("../server-table.ts");
  const watching = { ...selectionOf(target), resourceVersion: revision, signal };
  for await (const event of target.client.watch(target.type, watching))
    if (event.type !== "BOOKMARK") environment.out.write(await formatObjects([event.object], true, format));
  return exitCode.succeeded;
}

/** As kubectl does: prints what exists, then reports what does not. */
function tellMissing(missing: readonly unknown[], { err }: Environment): number {
  for (const refusal of missing) err.write(`slipway: ${messageOf(refusal)}\n`);
  return exitCode.failed;
}

/** `revision` is that of the list or of the one object; a watch continues there. */
async function read(
  target: TableRequest,
): Promise<{ objects: readonly Stored[]; revision: string; missing: readonly unknown[] }> {
  const { client, type, namespace, names } = target;
  const { findEach, selectionOf } = await import("../server-table.ts");
  if (names.length === 0) {
    const { items, metadata } = await client.list(type, selectionOf(target));
    return { objects: items, revision: metadata.resourceVersion, missing: [] };
  }
  const place = namespace === undefined ? {} : { namespace };
  const { found, missing } = await findEach(names, (name) => client.get({ type, ...place, name }));
  return { objects: found, revision: found[0]?.metadata.resourceVersion ?? "", missing };
}

/** Reports an empty list on stderr, so that scripts that count lines count none. */
async function printTable(target: TableRequest, wide: boolean, invocation: Invocation<GetOptions>): Promise<number> {
  const { readTable, watchTable } = await import("../server-table.ts");
  const { formatTable } = await import("#kernel/command/index.node.ts");
  const { environment, options, signal } = invocation;
  const table = await readTable(target, wide);
  if (table.rows.length === 0 && table.missing.length === 0 && options.watch !== true) {
    environment.err.write(
      `no ${target.type.plural}${target.namespace === undefined ? "" : ` in namespace ${target.namespace}`}\n`,
    );
    return exitCode.succeeded;
  }
  if (table.rows.length > 0 || table.missing.length === 0)
    environment.out.write(formatTable(table.header, table.rows.map(shown)));
  await tellHeldUp(target, environment);
  if (table.missing.length > 0) return tellMissing(table.missing, environment);
  if (options.watch !== true) return exitCode.succeeded;
  for await (const row of watchTable(target, table, signal)) environment.out.write(formatTable(shown(row), []));
  return exitCode.succeeded;
}

/** Points to kinds of other groups that the same word names, if they have objects that the caller may list. */
async function tellOthers(target: TableRequest, others: readonly ResourceType[], { err }: Environment): Promise<void> {
  const { client, namespace } = target;
  for (const type of others) {
    const scope = type.namespaced && namespace !== undefined ? { namespace } : {};
    const { items } = await client.list(type, { ...scope, limit: 1 }).catch(() => ({ items: [] }));
    if (items.length === 0) continue;
    // One kind may be served in two groups, as Events are.
    const [same] = (await client.list(target.type, { ...scope, limit: 1 })).items;
    if (items[0]?.metadata.uid === same?.metadata.uid) continue;
    const [own, other] = [qualifiedResource(target.type), qualifiedResource(type)];
    err.write(`slipway: these are ${own}; for the others: slipway get ${other}\n`);
  }
}

/** The server does not escape cells. */
const shown = (row: readonly string[]): readonly string[] => row.map(oneLine);

/** Reports why runs that the table shows as running are held up. */
async function tellHeldUp(target: TableRequest, { err }: Environment): Promise<void> {
  const { dialectOf } = await import("#app/runs/index.ts");
  const dialect = await dialectOf(target.type);
  if (dialect === undefined) return;
  const { heldUpRuns } = await import("../held-up-runs.ts");
  for (const line of await heldUpRuns(target.client, target.type, dialect, target)) err.write(`slipway: ${line}\n`);
}
