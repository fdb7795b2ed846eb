import { afterAwake } from "#lib/base/index.ts";
import { type Invocation, type Session, withSession } from "#kernel/command/index.ts";
import { findRunning } from "./connect.ts";
import { findKinds } from "./kinds.ts";
import { readRun } from "./runs.ts";

/** How long completion may take. */
const patienceMs = 1000;
const most = 500;

/**
 * Names from the running control plane, for completion; steps are those of the run in `words[1]`. Returns nothing
 * rather than an error or a late answer.
 */
export async function namesFor(
  kind: "run" | "startable" | "step" | "kind" | "name",
  { clock, connect, options, environment }: Pick<Invocation<object>, "clock" | "connect" | "options" | "environment">,
  words: readonly string[],
): Promise<readonly string[]> {
  const patience = new AbortController();
  const cancel = afterAwake(clock, patienceMs, () => patience.abort());
  try {
    // Completion does not wait for a server to start.
    if ((await findRunning(options, environment)) === undefined) return [];
    return await withSession({ connect }, (session) => lookUp(kind, session, words, patience.signal));
  } catch {
    return []; // No server, or one that is too slow: there is nobody to tell.
  } finally {
    cancel();
  }
}

async function lookUp(
  kind: "run" | "startable" | "step" | "kind" | "name",
  { client, namespace }: Session,
  words: readonly string[],
  signal: AbortSignal,
) {
  if (kind === "kind") return (await client.resourceTypes()).map(({ plural }) => plural);
  if (kind === "step") {
    const { dialect, object } = await readRun({ client, namespace }, [words[1] ?? ""], { signal });
    return dialect.runs.view(object, []).steps.map(({ id }) => id);
  }
  if (kind === "startable") {
    const { startableNames } = await import("./stored-runs.ts");
    return (await startableNames({ client, namespace }, signal)).slice(0, most);
  }
  const types = await findKinds(client, kind === "run" ? "workflows" : (words[1] ?? ""));
  const scope = { limit: most, signal };
  const lists = await Promise.all(
    types.map((type) => client.list(type, { ...scope, ...(type.namespaced ? { namespace } : {}) })),
  );
  return lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.name)).slice(0, most);
}
