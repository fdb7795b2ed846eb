import type { CheckedDocument, Dialect, RunPreviews } from "#kernel/dialect/index.ts";
import type { Problem } from "#lib/base/index.ts";
import { type Invocation, UsageError } from "#kernel/command/index.ts";
import type { ReadDocuments } from "./documents.ts";
import { isRunOf } from "./runs.ts";

// What runs come to that this program cannot try by itself, because agents elsewhere carry them out: told without a server, of what the
// documents of one command line hold. The languages render; nothing here knows how.

/** What it takes besides the documents: a clock for the limits of rendering, a signal to give it up. */
type Place = Pick<Invocation<unknown>, "clock" | "signal">;

/**
 * What runs of these documents would carry out where that is not for the engine to try; undefined where it is, and where there is no run.
 * Both in one command would be two forms of output: a UsageError.
 */
export async function runPreviews(read: ReadDocuments, place: Place): Promise<RunPreviews | undefined> {
  const languages = languagesOf(read);
  const dialect = languages.find(({ runs }) => runs.preview !== undefined);
  if (dialect === undefined) return undefined;
  if (languages.length > 1) {
    const names = languages.map(({ name }) => name).sort();
    throw new UsageError(`--dry-run is for runs of one language, the documents hold runs of ${names.join(" and ")}`);
  }
  return await previewsIn(read, dialect, place);
}

/**
 * What would be refused when the runs of these documents are rendered, as far as that can be told: what a run refers to and the documents
 * do not hold may be on the server that they are for, and is not missed.
 */
export async function previewProblems(read: ReadDocuments, place: Place): Promise<readonly Problem[]> {
  const found: Problem[] = [];
  for (const dialect of languagesOf(read).filter(({ runs }) => runs.preview !== undefined))
    found.push(...(await previewsIn(read, dialect, place)).problems);
  return found.filter(({ code }) => code !== "missing-reference");
}

/** The languages of the runs among the documents, each once. Documents with errors count for nothing. */
const languagesOf = ({ documents }: ReadDocuments): readonly Dialect[] => [
  ...new Set(
    documents.flatMap(({ dialect, object }) =>
      dialect !== undefined && object !== undefined && isRunOf(dialect, object) ? [dialect] : [],
    ),
  ),
];

/** The thread that renders is started by the first template, and ended before this resolves. */
async function previewsIn(read: ReadDocuments, dialect: Dialect, { clock, signal }: Place): Promise<RunPreviews> {
  // Most commands need nothing of a server, of which this is a part.
  const { openTemplates } = await import("#app/server/index.ts");
  const templates = openTemplates(clock);
  try {
    const none: RunPreviews = { plans: [], problems: [] };
    return (await dialect.runs.preview?.(checkedOf(read, dialect), { templates, signal })) ?? none;
  } finally {
    await templates.close();
  }
}

/** The documents of one language that were read without an error, runs or not: what runs refer to is among them. */
const checkedOf = ({ documents }: ReadDocuments, dialect: Dialect): readonly CheckedDocument[] =>
  documents.flatMap(({ source, object, dialect: own }) =>
    own === dialect && object !== undefined ? [{ source, object }] : [],
  );

/** The plans as data, one list whether there is one or several; or for people, with an empty line between two. */
export async function previewsText({ plans }: RunPreviews, format: "json" | "yaml" | undefined): Promise<string> {
  const data = plans.map((plan) => plan.data);
  if (format === "json") return `${JSON.stringify(data, null, 2)}\n`;
  // The order of members is that of the text for people, which is the order in which they matter.
  if (format === "yaml") return (await import("#lib/yaml/index.ts")).writeYaml(data, { keys: "given" });
  return plans.map(({ text }) => text).join("\n");
}
