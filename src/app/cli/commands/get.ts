import type { ApiClient } from "#kernel/kit/index.ts";
import { qualifiedResource, type ResourceType, type Stored } from "#kernel/model/index.ts";
import { messageOf, oneLine } from "#lib/base/index.ts";
import { command, type Environment, exitCode, type Invocation, UsageError } from "#kernel/command/index.ts";
import { type Format, formatHelp, formatObjects, parseFormat } from "../output/formats.ts";

/** As of kubectl's `get`, whose users expect them by heart. */
interface GetOptions {
  readonly output: string;
  readonly watch?: boolean;
  readonly allNamespaces?: boolean;
  readonly selector?: string;
}

/** What is listed or watched; the same for tables and objects. */
interface Target {
  readonly client: ApiClient;
  readonly type: ResourceType;
  /** Absent: all namespaces, or a kind that has none. */
  readonly namespace: string | undefined;
  readonly names: readonly string[];
  readonly selector: string | undefined;
}

/**
 * Tables are the server's, so that a kind looks here as it does in kubectl. `--watch` goes on from the revision that
 * was listed, so that no change is missed or told twice; it ends by signal, with 0 when the server ends it.
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
  // The format is read before anything is asked: a wrong one must not cost a request.
  async action(invocation) {
    const { args, rest, options } = invocation;
    const { withSession } = await import("#kernel/command/index.ts");
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
 * One name prints the object itself, several or none a List, as kubectl has it; while watching each object by itself.
 */
async function printObjects(
  target: Target,
  format: Exclude<Format, { kind: "table" }>,
  invocation: Invocation<GetOptions>,
): Promise<number> {
  const { environment, options, signal } = invocation;
  const { objects, revision, missing } = await read(target);
  const single = target.names.length === 1;
  if (missing.length === 0 || objects.length > 0) environment.out.write(await formatObjects(objects, single, format));
  if (missing.length > 0) return tellMissing(missing, environment);
  if (options.watch !== true) return exitCode.succeeded;
  for await (const event of target.client.watch(target.type, {
    ...selection(target),
    resourceVersion: revision,
    signal,
  })) {
    if (event.type !== "BOOKMARK") environment.out.write(await formatObjects([event.object], true, format));
  }
  return exitCode.succeeded;
}

/** As kubectl does: what is there was printed, and what is not is told beside it. */
function tellMissing(missing: readonly unknown[], { err }: Environment): number {
  for (const refusal of missing) err.write(`slipway: ${messageOf(refusal)}\n`);
  return exitCode.failed;
}

/** `revision` is the list's own, or that of the one object, where a watch goes on. */
async function read({
  client,
  type,
  namespace,
  names,
  ...target
}: Target): Promise<{ objects: readonly Stored[]; revision: string; missing: readonly unknown[] }> {
  if (names.length === 0) {
    const { items, metadata } = await client.list(type, selection({ client, type, namespace, names, ...target }));
    return { objects: items, revision: metadata.resourceVersion, missing: [] };
  }
  const { findEach } = await import("../server-table.ts");
  const place = namespace === undefined ? {} : { namespace };
  const { found, missing } = await findEach(names, (name) => client.get({ type, ...place, name }));
  return { objects: found, revision: found[0]?.metadata.resourceVersion ?? "", missing };
}

/** A single name is watched by a field selector; the caller has refused several. */
const selection = ({ namespace, names, selector }: Target) => ({
  ...(namespace === undefined ? {} : { namespace }),
  ...(selector === undefined ? {} : { labelSelector: selector }),
  ...(names.length === 0 ? {} : { fieldSelector: `metadata.name=${names[0]}` }),
});

/** That there is nothing is said on stderr: a script that counts lines counts none. */
async function printTable(target: Target, wide: boolean, invocation: Invocation<GetOptions>): Promise<number> {
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

/**
 * A word may mean kinds of several groups, of which one is shown: nobody shall believe that there are none of the others. Nothing is said of
 * kinds that have no object here, or that the caller may not list.
 */
async function tellOthers(target: Target, others: readonly ResourceType[], { err }: Environment): Promise<void> {
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

/** Cells are the server's, who shows what somebody has written as it is. */
const shown = (row: readonly string[]): readonly string[] => row.map(oneLine);

/** Beside the table, which is the server's: why runs that it calls running do not get on. */
async function tellHeldUp(target: Target, { err }: Environment): Promise<void> {
  const { heldUpRuns, mayBeRun } = await import("../held-up-runs.ts");
  if (!mayBeRun(target.type)) return;
  const { dialectOf } = await import("../runs.ts");
  const dialect = await dialectOf(target.type);
  if (dialect === undefined) return;
  for (const line of await heldUpRuns(target.client, target.type, dialect, target)) err.write(`slipway: ${line}\n`);
}
