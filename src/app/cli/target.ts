import type { Document, ReadDocuments } from "./documents.ts";
import { UsageError } from "#kernel/command/index.ts";
import { abilityOf, isRunOf, unknownStep } from "./runs.ts";

/**
 * Reduces the only run among the documents to a step and its dependencies. A UsageError for several runs or an unknown
 * main step.
 */
export function upTo(read: ReadDocuments, step: string): ReadDocuments {
  const runs = read.documents.filter(isRun);
  if (runs.length !== 1)
    throw new UsageError(`--target requires exactly one run; the documents contain ${runs.length}`);
  const documents = read.documents.map((document) => (isRun(document) ? cut(document, step) : document));
  return { ...read, documents };
}

const isRun = ({ dialect, object }: Document): boolean =>
  dialect !== undefined && object !== undefined && isRunOf(dialect, object);

function cut(document: Document, step: string): Document {
  const { dialect, object } = document;
  if (dialect === undefined || object === undefined) return document;
  // Final steps are about the whole run.
  const ids = dialect.runs.graph(object).nodes.flatMap(({ id, final }) => (final ? [] : [id]));
  if (!ids.includes(step)) throw unknownStep(`--target: there is no main step "${step}"`, step, ids);
  return { ...document, object: abilityOf(dialect, "upTo", "reduced to a target")(object, step) };
}
