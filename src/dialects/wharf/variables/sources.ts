import type { Environment } from "../definition/definition.ts";
import type { Related } from "../definition/node.ts";
import { asText } from "../definition/scalar.ts";
import type { Variable } from "./variable.ts";

export const environmentVariables = (environment: Environment): readonly Variable[] =>
  [...environment].map(([name, { tag, text, value, at }]) => {
    const definedAt: Related = { message: `the variable "${name}" is defined here`, place: at };
    return { name, tag, text, value, source: "environment", definedAt };
  });

export const buildVariables = (build: {
  readonly buildId?: number | undefined;
  readonly projectId?: number | undefined;
}): readonly Variable[] => [
  ...integerVariable("BUILD_REF", build.buildId),
  ...integerVariable("PROJECT_ID", build.projectId),
];

const integerVariable = (name: string, value: number | undefined): readonly Variable[] =>
  value === undefined ? [] : [{ name, tag: "integer", text: String(value), value, source: "build" }];

const prefix = "WHARF_VAR_";

/** `WHARF_VAR_NAME=text`; always texts. */
export const processVariables = (all: Readonly<Record<string, string | undefined>>): readonly Variable[] =>
  Object.keys(all)
    .filter((name) => name.startsWith(prefix) && name.length > prefix.length)
    .sort()
    .flatMap((name) => {
      const text = all[name];
      if (text === undefined) return [];
      return [{ name: name.slice(prefix.length), ...asText(text), source: "process environment" }];
    });
