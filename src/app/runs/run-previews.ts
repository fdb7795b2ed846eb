import type { CheckedDocument, Dialect, PreviewParts, RunPreviews } from "#kernel/dialect/index.ts";
import type { Problem } from "#lib/base/index.ts";
import { type Environment, type Host, UsageError } from "#kernel/command/index.ts";
import { type ReadDocuments, runsIn } from "./documents.ts";

// Previews of runs that agents elsewhere execute: dialects render them from the documents alone, without a server.

interface Place {
  /** Opens templates for one use. */
  readonly host?: Pick<Host, "openTemplates">;
  /** Open ones, which stay open. */
  readonly templates?: PreviewParts["templates"];
  /** Absent on a server, whose settings are its own. */
  readonly environment?: Pick<Environment, "variable">;
  readonly signal: AbortSignal;
}

/**
 * The previews of runs that the engine cannot simulate; undefined if there are none. Throws a UsageError for runs of
 * several dialects, whose output differs.
 */
export async function runPreviews(read: ReadDocuments, place: Place): Promise<RunPreviews | undefined> {
  const languages = languagesOf(read);
  const dialect = languages.find(({ runs }) => runs.preview !== undefined);
  if (dialect === undefined) return undefined;
  if (languages.length > 1) {
    const names = languages.map(({ name }) => name).sort();
    throw new UsageError(
      `--dry-run requires runs of one dialect; the documents contain runs of ${names.join(" and ")}`,
    );
  }
  return await previewsIn(read, dialect, place);
}

/** The problems of rendering these runs. Missing references are ignored: the server may have the objects. */
export async function previewProblems(read: ReadDocuments, place: Place): Promise<readonly Problem[]> {
  const found: Problem[] = [];
  for (const dialect of languagesOf(read).filter(({ runs }) => runs.preview !== undefined))
    found.push(...(await previewsIn(read, dialect, place)).problems);
  return found.filter(({ code }) => code !== "missing-reference");
}

const languagesOf = (read: ReadDocuments): readonly Dialect[] => [
  ...new Set(runsIn(read).map(({ dialect }) => dialect)),
];

async function previewsIn(read: ReadDocuments, dialect: Dialect, place: Place): Promise<RunPreviews> {
  const none: RunPreviews = { plans: [], problems: [] };
  const { signal, environment } = place;
  const own = place.templates === undefined ? await place.host?.openTemplates() : undefined;
  const templates = place.templates ?? own;
  if (templates === undefined) return none;
  try {
    return (
      (await dialect.runs.preview?.(checkedOf(read, dialect), {
        templates,
        variable: environment?.variable ?? (() => undefined),
        signal,
      })) ?? none
    );
  } finally {
    await own?.close();
  }
}

/** The valid documents of one dialect, including those that runs refer to. */
const checkedOf = ({ documents }: ReadDocuments, dialect: Dialect): readonly CheckedDocument[] =>
  documents.flatMap(({ source, object, dialect: own }) =>
    own === dialect && object !== undefined ? [{ source, object }] : [],
  );

/** The plans as one list of data, or as text with an empty line between them. */
export async function previewsText({ plans }: RunPreviews, format: "json" | "yaml" | undefined): Promise<string> {
  const data = plans.map((plan) => plan.data);
  if (format === "json") return `${JSON.stringify(data, null, 2)}\n`;
  if (format === "yaml") return (await import("#lib/yaml/index.ts")).writeYaml(data, { keys: "given" });
  return plans.map(({ text }) => text).join("\n");
}
