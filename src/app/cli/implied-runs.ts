import type { CheckedDocument, Dialect } from "#kernel/dialect/index.ts";
import { hasErrors, type Problem } from "#lib/base/index.ts";
import type { Document, ReadDocuments } from "./documents.ts";

/** What of the command line decides about runs that nobody has written. */
export interface ImpliedBy {
  readonly arguments: Readonly<Record<string, string>>;
  /** Name of the machine. */
  readonly hardware?: string;
}

/**
 * The documents, and behind them the runs that they imply: a template that can be run as it is need not be given one. To be asked only
 * where no document is a run; nothing is added to documents with errors.
 */
export function withImpliedRuns(read: ReadDocuments, by: ImpliedBy): ReadDocuments {
  if (hasErrors(read.problems)) return read;
  const problems: Problem[] = [];
  const documents: Document[] = [];
  const hardware = by.hardware === undefined ? {} : { hardware: by.hardware };
  for (const dialect of new Set(read.documents.flatMap((document) => document.dialect ?? []))) {
    const own = read.documents.filter((document) => document.dialect === dialect);
    const implied = dialect.documents.impliedRuns?.(own.flatMap(checkedOf), hardware);
    if (implied?.ok === false) problems.push(...implied.error);
    const sources = implied?.ok === true ? implied.value : [];
    documents.push(...sources.map((source) => readRun(dialect, own[0]?.file ?? "", source, by, problems)));
  }
  return { documents: [...read.documents, ...documents], problems: [...read.problems, ...problems] };
}

const checkedOf = ({ source, object }: Document): readonly CheckedDocument[] =>
  object === undefined ? [] : [{ source, object }];

/** Read as if somebody had written it. What is wrong with it goes to `problems`. */
function readRun(
  dialect: Dialect,
  file: string,
  source: Document["source"],
  { arguments: given }: ImpliedBy,
  problems: Problem[],
): Document {
  const reading = dialect.documents.read(source, { arguments: given });
  problems.push(...reading.problems);
  return { file, source, dialect, reader: dialect.documents, object: reading.object };
}
