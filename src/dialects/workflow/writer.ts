import { distinctWriters, type KubeObject, type Stored, type Writer, writersOf } from "#kernel/model/index.ts";
import type { Workflow } from "./kinds.ts";

/** The names of everybody a workflow acts for; empty where those are administrators. On a cluster nobody is noted. */
export const writerNamesOf = (workflow: KubeObject): string =>
  writersOf(workflow)
    .map(({ user }) => user)
    .sort()
    .join(", ");

/**
 * The workflow acting for these as well: for who wrote its template, or a child that it goes by. They are part of its status from its
 * next write on, and count at once.
 */
export function actingFor(workflow: Stored<Workflow>, writers: readonly Writer[]): Stored<Workflow> {
  const { actsFor = [] } = workflow.status ?? {};
  const all = distinctWriters([...actsFor, ...writers]);
  if (all.length === actsFor.length) return workflow;
  return {
    ...workflow,
    status: { ...workflow.status, actsFor: all.map(({ user, groups }) => ({ user, groups: [...groups] })) },
  };
}
