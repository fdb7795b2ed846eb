import type { GraphNode } from "#kernel/dialect/index.ts";
import { nearest } from "#lib/text/index.ts";
import type { Document, ReadDocuments } from "./documents.ts";
import { UsageError } from "#kernel/command/index.ts";
import { abilityOf, isRunOf } from "./runs.ts";

/**
 * The documents with the one run among them cut down to a step and what it depends on. More than one run, or a step that it does not
 * have among its main steps, is a UsageError: with several, one name could mean several steps.
 */
export function upTo(read: ReadDocuments, step: string): ReadDocuments {
  const runs = read.documents.filter(isRun);
  if (runs.length !== 1) throw new UsageError(`--target is for one run, the documents hold ${runs.length}`);
  const documents = read.documents.map((document) => (isRun(document) ? cut(document, step) : document));
  return { ...read, documents };
}

const isRun = ({ dialect, object }: Document): boolean =>
  dialect !== undefined && object !== undefined && isRunOf(dialect, object);

function cut(document: Document, step: string): Document {
  const { dialect, object } = document;
  if (dialect === undefined || object === undefined) return document;
  const nodes = dialect.runs.graph(object).nodes.filter(({ final }) => !final);
  if (!nodes.some(({ id }) => id === step)) throw unknownStep(step, nodes);
  return { ...document, object: abilityOf(dialect, "upTo", "cut down to a target")(object, step) };
}

/** Final steps are no targets: they are about the whole run. */
function unknownStep(step: string, nodes: readonly GraphNode[]): UsageError {
  const ids = nodes.map(({ id }) => id);
  const close = nearest(step, ids);
  return new UsageError(
    `--target: there is no main step "${step}"`,
    close === undefined ? `the steps are ${ids.slice(0, 20).join(", ")}` : `did you mean "${close}"?`,
  );
}
