// Variables that are the machine's or the user's rather than the project's, such as the address of a registry, are kept in files outside
// the definition. They are read as definitions are, with the same words and places.

import { below, type Reporter } from "../definition/diagnostics.ts";
import { isNull, kindOf, memberOf, type Node, type Related } from "../definition/node.ts";
import { readDocuments } from "../definition/read-nodes.ts";
import { userConfigDirectory, type UserPlaces } from "../user-directories.ts";
import type { Variable } from "./variable.ts";

/** The name of such a file in a project directory, and in those above it. */
export const variableFileName = ".wharf-vars.yml";

/**
 * The variables of one file. Several documents are allowed, of which later ones add; other keys than `vars` are none of our business.
 * `file` is how people are to see it.
 */
export function readVariableFile(text: string, file: string, reporter: Reporter): readonly Variable[] {
  const variables = new Map<string, Variable>();
  for (const document of readDocuments(text, reporter))
    for (const variable of variablesOf(document, file, reporter))
      if (!variables.has(variable.name)) variables.set(variable.name, variable);
  return [...variables.values()];
}

/** The variables of one document. */
function variablesOf(document: Node, file: string, reporter: Reporter): readonly Variable[] {
  if (document.kind !== "map") {
    reporter.error({ scope: "", at: document.at }, "type", `expected map with vars, found ${kindOf(document)}`);
    return [];
  }
  const vars = memberOf(document, "vars")?.value;
  if (vars === undefined || isNull(vars)) return [];
  if (vars.kind !== "map") {
    reporter.error({ scope: "vars", at: vars.at }, "type", `expected map of variables, found ${kindOf(vars)}`);
    return [];
  }
  return vars.members.flatMap(({ name, at, value }) => {
    if (value.kind !== "scalar") {
      const message = `expected text, number or boolean, found ${kindOf(value)}`;
      reporter.error({ scope: below("vars", name), at: value.at }, "type", message);
      return [];
    }
    const definedAt: Related = { message: `the variable "${name}" is defined here`, place: at, file };
    const { tag, text, value: own } = value;
    return [{ name, tag, text, value: own, source: "variable files", definedAt } as const];
  });
}

/** What decides where variable files are looked for. */
export interface VariableFilePlaces extends UserPlaces {
  /** Absolute. */
  readonly projectDirectory: string;
  /** In front of every path; for tests. */
  readonly root?: string;
}

/** Where variable files may be, the nearest first: the project directory, those above it, the user's, the machine's. */
export function variableFilePaths(places: VariableFilePlaces): readonly string[] {
  const { platform, root = "" } = places;
  const user = `${userConfigDirectory(places)}/iver-wharf/wharf-cmd/wharf-vars.yml`;
  const system = platform === "linux" ? [`${root}/etc/iver-wharf/wharf-cmd/wharf-vars.yml`] : [];
  const near = directoriesUp(places.projectDirectory).map(
    (directory) => `${directory.replace(/[/\\]$/, "")}/${variableFileName}`,
  );
  return [...near, user, ...system];
}

/** A directory, the one it is in, and so on up to the root. */
function directoriesUp(directory: string): readonly string[] {
  const found = [directory];
  for (;;) {
    const last = found.at(-1) ?? "";
    const parent = last.replace(/[/\\][^/\\]*[/\\]?$/, "");
    if (parent === last) return found;
    if (parent === "") return last === "/" ? found : [...found, "/"];
    found.push(parent);
  }
}
