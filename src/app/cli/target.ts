import { type ReadDocuments, runsIn } from "#app/runs/index.ts";
import { UsageError } from "#kernel/command/index.ts";
import { abilityOf, unknownStep } from "./runs.ts";

/**
 * Reduces the only run among the documents to a step and its dependencies. A UsageError for several runs or an unknown
 * main step.
 */
export function upTo(read: ReadDocuments, step: string): ReadDocuments {
  const runs = runsIn(read);
  const [run] = runs;
  if (run === undefined || runs.length > 1)
    throw new UsageError(`--target requires exactly one run; the documents contain ${runs.length}`);
  const { document, dialect, object } = run;
  // Final steps are about the whole run.
  const ids = dialect.runs.graph(object).nodes.flatMap(({ id, final }) => (final ? [] : [id]));
  if (!ids.includes(step)) throw unknownStep(`--target: there is no main step "${step}"`, step, ids);
  const reduced = { ...document, object: abilityOf(dialect, "upTo", "reduced to a target")(object, step) };
  return { ...read, documents: read.documents.map((one) => (one === document ? reduced : one)) };
}
