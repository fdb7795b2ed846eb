import type { Problem } from "#lib/base/index.ts";
import { Workflow } from "../kinds.ts";
import { notices } from "../messages.ts";
import type { Pass, Turn } from "./pass.ts";
import { setOne } from "./summary.ts";

/** Longest message in a condition, in characters. A status is written often, and events cut theirs at 1024 bytes. */
const longest = 2_000;

/**
 * A workflow that cannot be run says so, with everything that is wrong, and waits to be corrected. Nothing is deleted and nothing
 * that runs is ended: admission refuses such specifications, so this is about servers without it and about rules that have become
 * stricter. The same finding is written and told once.
 */
export async function invalidStage(pass: Pass, problems: readonly Problem[]): Promise<Turn> {
  const { workflow, client, now, signal } = pass;
  const { generation } = workflow.metadata;
  const told = problems.map(({ path, message }) => `${path}: ${message}`).join("; ");
  const message = told.length <= longest ? told : `${told.slice(0, longest)}…`;
  const present = workflow.status?.conditions ?? [];
  const conditions = setOne(
    present,
    { type: "Invalid", status: "True", reason: "InvalidSpec", message },
    generation,
    now,
  );
  if (conditions === present) return {};
  const phase = workflow.status?.phase ?? "Pending";
  const status = {
    ...workflow.status,
    phase,
    conditions,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
  const stored = await client.updateStatus<Workflow>(Workflow, { ...workflow, status }, { signal });
  if (workflow.status?.observedGeneration === undefined) pass.record(stored, notices.created(workflow.metadata.name));
  pass.record(stored, notices.invalid(message));
  return {};
}
