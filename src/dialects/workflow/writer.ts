import { distinctWriters, type KubeObject, type Stored, type Writer, writersOf } from "#kernel/model/index.ts";
import type { Workflow } from "./kinds.ts";

/** Everyone a workflow acts for; empty for administrators and on clusters. */
export const writerNamesOf = (workflow: KubeObject): string =>
  writersOf(workflow)
    .map(({ user }) => user)
    .sort()
    .join(", ");

/** The workflow acting for more writers, of a template or child, at once; its next write stores them. */
export function actingFor(workflow: Stored<Workflow>, writers: readonly Writer[]): Stored<Workflow> {
  const { actsFor = [] } = workflow.status ?? {};
  const all = distinctWriters([...actsFor, ...writers]);
  if (all.length === actsFor.length) return workflow;
  return {
    ...workflow,
    status: { ...workflow.status, actsFor: all.map(({ user, groups }) => ({ user, groups: [...groups] })) },
  };
}
