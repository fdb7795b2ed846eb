// Files for variables of the machine or the user, such as the address of a registry. They are read like definitions.

import { below, type Reporter } from "../definition/diagnostics.ts";
import { isNull, kindOf, memberOf, type Node, type Related } from "../definition/node.ts";
import { readDocuments } from "../definition/read-nodes.ts";
import { userConfigDirectory, type UserPlaces } from "../user-directories.ts";
import type { Variable } from "./variable.ts";

export const variableFileName = ".wharf-vars.yml";

/** The variables of one file. Of several documents the first value of a name is kept; keys other than `vars` are
 * ignored. */
export function readVariableFile(text: string, file: string, reporter: Reporter): readonly Variable[] {
  const variables = new Map<string, Variable>();
  for (const document of readDocuments(text, reporter))
    for (const variable of variablesOf(document, file, reporter))
      if (!variables.has(variable.name)) variables.set(variable.name, variable);
  return [...variables.values()];
}

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

export interface VariableFilePlaces extends UserPlaces {
  readonly projectDirectory: string;
  readonly root?: string;
}

export function variableFilePaths(places: VariableFilePlaces): readonly string[] {
  const { platform, root = "" } = places;
  const user = `${userConfigDirectory(places)}/iver-wharf/wharf-cmd/wharf-vars.yml`;
  const system = platform === "linux" ? [`${root}/etc/iver-wharf/wharf-cmd/wharf-vars.yml`] : [];
  const near = directoriesUp(places.projectDirectory).map(
    (directory) => `${directory.replace(/[/\\]$/, "")}/${variableFileName}`,
  );
  return [...near, user, ...system];
}

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
