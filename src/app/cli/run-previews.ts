import type { CheckedDocument, Dialect, RunPreviews } from "#dialects/index.ts";
import type { Invocation } from "./command.ts";
import type { ReadDocuments } from "./documents.ts";
import { UsageError } from "./exit-codes.ts";
import { isRunOf } from "./runs.ts";

/**
 * What runs of these documents would carry out where that is not for the engine to try; undefined where it is, and where there is no run.
 * Both in one command would be two forms of output: a UsageError.
 */
export async function runPreviews(
  { documents }: ReadDocuments,
  { clock, signal }: Pick<Invocation<unknown>, "clock" | "signal">,
): Promise<RunPreviews | undefined> {
  const languages = new Set(
    documents.flatMap(({ dialect, object }) =>
      dialect !== undefined && object !== undefined && isRunOf(dialect, object) ? [dialect] : [],
    ),
  );
  const dialect = [...languages].find(({ runs }) => runs.preview !== undefined);
  if (dialect?.runs.preview === undefined) return undefined;
  if (languages.size > 1) {
    const names = [...languages].map(({ name }) => name).sort();
    throw new UsageError(`--dry-run is for runs of one language, the documents hold runs of ${names.join(" and ")}`);
  }
  const { openTemplates } = await import("#app/server/index.ts");
  const templates = openTemplates(clock);
  try {
    return await dialect.runs.preview(checkedOf(documents, dialect), { templates, signal });
  } finally {
    await templates.close();
  }
}

const checkedOf = (documents: ReadDocuments["documents"], dialect: Dialect): readonly CheckedDocument[] =>
  documents.flatMap(({ source, object, dialect: own }) =>
    own === dialect && object !== undefined ? [{ source, object }] : [],
  );

/** A list of the plans as data, or the plans one after the other. */
export async function previewsText({ plans }: RunPreviews, format: "json" | "yaml" | undefined): Promise<string> {
  const data = plans.map((plan) => plan.data);
  if (format === "json") return `${JSON.stringify(data, null, 2)}\n`;
  if (format === "yaml") return (await import("#lib/yaml/index.ts")).writeYaml(data, { keys: "given" });
  return plans.map(({ text }) => text).join("\n");
}
